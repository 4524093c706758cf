//! Rewinding of a chat to before the message that is answered again.

use std::time::Duration;

use tokio::time::timeout;

use super::{LiveConversation, regenerate::RegenerateRequest};
use crate::Problem;
use forgeline_types::{ErrorCode, MessageRole};

/// Maximum wait for the run whose answer is taken back.
const MAX_WAIT: Duration = Duration::from_secs(10);

impl LiveConversation {
    /// Rewinds the conversation once its cancelled runs have ended.
    pub(crate) async fn take_back(&self, again: &RegenerateRequest) -> Result<(), Problem> {
        let rewound = self.handle.rewind_to(|begun| {
            let transcript = self.handle.transcript();
            let users = transcript.iter().filter(|message| message.role == MessageRole::User);
            again.place(begun, &users.map(|message| message.text()).collect::<Vec<_>>())
        });
        match timeout(MAX_WAIT, rewound).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                tracing::error!(%error, conversation = %self.id, "a conversation could not be rewound");
                if error.code == ErrorCode::Journal {
                    return Err(self.journal.problem(error));
                }
                Err(Problem::busy("the answer could not be removed; try again later", 5))
            }
            Err(_) => {
                let detail =
                    "an earlier run of the chat has not ended; cancel it, or try again later";
                Err(Problem::busy(detail, 5))
            }
        }
    }
}
