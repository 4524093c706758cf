//! Rewinding of a chat to before the message that is answered again.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use super::{Conversation, regenerate::Again};
use crate::{
    server::{Problem, Service, journal::rewound::TakenBack, runs::run::Run},
    store::{ConversationKey, StoreError},
    types::{ErrorCode, Text},
};

/// Maximum wait for the run whose answer is taken back.
const MAX_WAIT: Duration = Duration::from_secs(10);

impl Service {
    /// Cancels the active runs and rewinds the conversation.
    pub(crate) async fn take_back(
        &self,
        scope: &Text,
        conversation: &Conversation,
        again: &Again,
    ) -> Result<(), Problem> {
        let id = &conversation.id;
        self.open_runs_of(scope, id).iter().for_each(|run| run.cancel.cancel());
        let rewound = conversation.agent.rewind_to(|begun| again.place(begun));
        match timeout(MAX_WAIT, rewound).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                tracing::error!(%error, conversation = %id, "a conversation could not be taken back");
                if error.code == ErrorCode::Journal {
                    return Err(conversation.journal.problem(error));
                }
                Err(Problem::busy("the answer could not be taken back; try again later", 5))
            }
            Err(_) => {
                let detail =
                    "an earlier run of the chat has not ended; cancel it, or try again later";
                Err(Problem::busy(detail, 5))
            }
        }
    }

    /// Returns the messages of a conversation that were taken back; those read so far if its journal is damaged.
    pub(crate) async fn taken_back(&self, key: &ConversationKey) -> Result<TakenBack, Problem> {
        let store = &*self.stores().conversations;
        let known = self.0.conversations.find(&key.scope, &key.id);
        let mut taken = TakenBack::default();
        let read = match &known {
            Some(known) => {
                let mut kept = known.taken_back.lock().await;
                let read = kept.read(store, key).await;
                taken.clone_from(&kept);
                read
            }
            None => taken.read(store, key).await,
        };
        match read {
            Ok(()) | Err(StoreError::Corrupt { .. }) => Ok(taken),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the runs of a conversation that have not ended.
    fn open_runs_of(&self, scope: &Text, conversation: &str) -> Vec<Arc<Run>> {
        let mut runs = self.0.runs.all();
        runs.retain(|run| {
            run.key.scope == *scope && run.conversation == conversation && !run.has_ended()
        });
        runs
    }
}
