//! Inputs to a running agent.

use serde::{Deserialize, Serialize};

/// One input to a running agent. Inputs that arrive during a turn wait in order.
///
/// # Examples
///
/// ```
/// use forgeline::types::Input;
///
/// assert_eq!(Input::from("Hi"), Input::User { text: "Hi".to_owned() });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Input {
    /// A message of the user, which the agent answers.
    User {
        /// The message.
        text: String,
    },
    /// Ends the turn that is running, if one is; later inputs are served as usual.
    Cancel,
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self::User { text: text.to_owned() }
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Self::User { text }
    }
}
