//! The provider under test, its server, and what arrives from it.

mod answer;
mod seen;
mod server;
mod subject;
mod suite;

pub use answer::{Answer, AnswerCall, AnswerEnd, AnswerPart, AnswerUsage, ndjson_frame, sse_frame};
pub(super) use seen::{RequestRun, SeenAnswer, SeenPiece};
pub(super) use server::{BodyStep, ReceivedRequest, ScriptedServer, ServerReply};
pub use subject::{Candidate, Setup, Subject};
pub(super) use suite::{CheckSuite, KEY, MODEL, ProviderTrial, prompt};
