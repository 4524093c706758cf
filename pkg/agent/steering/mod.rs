//! The input of a run in progress: messages of the user, and answers to its open requests.

mod answer_gate;
mod approvals;
mod client_calls;
mod open_requests;
mod question_desk;
mod questions;
mod request_kind;
mod requests;
mod session_control;
pub(crate) mod steering_handle;
mod user_message;

pub(crate) use self::user_message::UserMessage;
pub(crate) use self::{
    answer_gate::AnswerGate,
    question_desk::{CallAbove, DeskStage, QuestionDesk},
    session_control::{CurrentRun, SessionControl, has_ended},
};
pub use self::{
    approvals::Approvals, client_calls::ClientCalls, questions::Questions,
    steering_handle::Steering,
};
