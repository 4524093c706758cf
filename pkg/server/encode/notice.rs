//! The notice to a client at the beginning of a response, besides the events of the run.

use serde_json::{Value, json};

/// A notice to a client of a chat protocol about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseNotice {
    /// The service does not have the conversation, and did not read this number of earlier messages that the request contains.
    HistoryNotRead { messages: usize },
}

impl ResponseNotice {
    /// Returns its name in the protocols.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HistoryNotRead { .. } => "history_not_read",
        }
    }

    pub(crate) fn data(self) -> Value {
        let Self::HistoryNotRead { messages } = self;
        let message = "this service does not have the conversation; a new one begins, and the earlier messages were not read";
        json!({ "messages": messages, "message": message })
    }
}
