//! Providers and transports for tests: scripted answers, recorded sessions, and the conformance suite
//! for authors of providers.
//!
//! | to test | use |
//! | --- | --- |
//! | an agent, against answers written in the test | [`ScriptedProvider`] |
//! | a program, against a session with a real server | `record` and `replay`, with the feature `record` |
//! | a custom store | `stores`, with the feature `testing` |
//! | a custom provider | `conformance`, with the feature `conformance` |

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "record")]
pub mod record;
#[cfg(feature = "record")]
pub mod replay;
mod scripted;
#[cfg(feature = "testing")]
pub mod stores;

pub use scripted::{ScriptedProvider, ScriptedTurn};
