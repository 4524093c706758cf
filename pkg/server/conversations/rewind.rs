//! Rewinding of a chat to before the message that is answered again.

use std::time::Duration;

use tokio::time::timeout;

use axum::http::StatusCode;

use super::{
    LiveConversation,
    regenerate::{BranchPlace, RegenerateRequest},
};
use crate::Problem;
use forgeline_types::{ErrorCode, MessageRole};

/// Maximum wait for the run whose answer is taken back.
const MAX_WAIT: Duration = Duration::from_secs(10);

impl LiveConversation {
    /// Checks that a chat which is answered again, or was edited, is this conversation up to there. Nothing is rewound or cancelled.
    pub(crate) fn check_place(&self, again: &RegenerateRequest) -> Result<(), Problem> {
        known(self.place(again, &self.handle.begun()))
    }

    fn place(&self, again: &RegenerateRequest, begun: &[String]) -> BranchPlace {
        let transcript = self.handle.transcript();
        let users = transcript.iter().filter(|message| message.role == MessageRole::User);
        again.place(begun, &users.map(|message| message.text()).collect::<Vec<_>>())
    }

    /// Rewinds the conversation once its cancelled runs have ended.
    pub(crate) async fn take_back(&self, again: &RegenerateRequest) -> Result<(), Problem> {
        let mut place = BranchPlace::End;
        let rewound = self.handle.rewind_to(|begun| {
            place = self.place(again, begun);
            if let BranchPlace::Before(at) = place { Some(at) } else { None }
        });
        match timeout(MAX_WAIT, rewound).await {
            Ok(Ok(_)) => known(place),
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

/// Refuses a chat that has no place in its conversation: the answer would follow messages that the chat does not show.
fn known(place: BranchPlace) -> Result<(), Problem> {
    match place {
        BranchPlace::Before(_) | BranchPlace::End => Ok(()),
        BranchPlace::Unknown => {
            let detail = "the earlier messages of the chat are not those of the conversation; send them as the service \
                has them, edit the first one that differs, or begin a chat with another id";
            Err(Problem::new(StatusCode::CONFLICT, "other_history", detail))
        }
    }
}
