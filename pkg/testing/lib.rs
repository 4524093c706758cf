//! Providers and transports for tests: scripted answers, recorded sessions, and the conformance suite
//! for authors of providers.
//!
//! | to test | use |
//! | --- | --- |
//! | an agent, against answers written in the test | [`ScriptedProvider`] |
//! | a program, against a session with a real server | `record` and `replay`, in every build |
//! | a custom store | `stores`, with the feature `stores` |
//! | a custom provider | `conformance`, with the feature `conformance` |

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod record;
pub mod replay;
#[cfg(feature = "stores")]
pub mod stores;

pub use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
