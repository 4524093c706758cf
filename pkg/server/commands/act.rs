//! The acts of callers on runs.

use serde::{Deserialize, Serialize};

use crate::{
    Problem,
    http::ids::digest_text,
    input::{
        pending::{DeliveryTime, PendingAnswer},
        ui_message::{InterruptAnswer, ReaderAnswer, UiMessage},
    },
    runs::run::WaitsFor,
};
use forgeline_agent::{Caller, private::RequestAnswer};
use forgeline_store::private::now_ms;
use forgeline_types::{Message, Text};

use super::outcome::{ActOutcome, RunWait};

/// Something that a caller does to a run.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunAct {
    /// The run ends.
    Cancel,
    /// An open request is answered.
    Answer(PendingAnswer),
    /// The model reads a message.
    Steer { when: DeliveryTime, message: Message },
    /// The reader of a chat answers open requests, and reads on.
    Chat { next: Option<u64>, answers: Vec<ReaderAnswer> },
    /// The reader of a chat wants to know whether the run waits, and which of these answers are for open requests.
    Look { answers: Vec<ReaderAnswer> },
    /// The user has moved on to something else.
    Leave { answers: Vec<PendingAnswer> },
    /// An AG-UI client answers open requests, or says something.
    AgUi(AgUiAct),
    /// A reader has read all events before this one, and wants to know whether the run waits for it.
    Pause { next: u64, ends: WaitsFor },
}

/// The part of an AG-UI request that concerns a run which waits.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct AgUiAct {
    pub(crate) resume: Vec<InterruptAnswer>,
    pub(crate) messages: Vec<UiMessage>,
}

/// An act with its caller and its time.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct SentAct {
    pub(crate) caller: Caller,
    /// The time, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
    pub(crate) act: RunAct,
}

impl SentAct {
    /// Returns an act of this caller, now.
    pub(crate) fn new(caller: &Caller, act: RunAct) -> Self {
        Self { caller: caller.clone(), at_ms: now_ms(), act }
    }
}

impl RunAct {
    /// Returns the kind of its command.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Answer(_) => "answer",
            Self::Steer { .. } => "steer",
            Self::Chat { .. } => "chat",
            Self::Look { .. } => "look",
            Self::Leave { .. } => "leave",
            Self::AgUi(_) => "ag_ui",
            Self::Pause { .. } => "pause",
        }
    }

    /// Returns a digest of the act, the same when it is sent again.
    pub(crate) fn digest(&self) -> String {
        digest_text(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Returns the key of its command without one of the caller; `None` for a message, which may be sent twice.
    pub(crate) fn own_key(&self, digest: &str) -> Option<Text> {
        let is_message = matches!(self, Self::Steer { .. });
        // An id that a caller chose may be long; the digest includes it.
        (!is_message).then(|| format!("{} {digest}", self.kind()).into())
    }

    /// Returns the outcome for a run that has ended.
    pub(crate) fn after_end(&self, run: &str) -> Result<ActOutcome, Problem> {
        match self {
            Self::Cancel | Self::Leave { .. } => Ok(ActOutcome::Done),
            Self::Answer(answer) => Err(Problem::not_found(request_kind(answer), &answer.id)),
            Self::Steer { .. } => Err(Problem::not_found("open run", run)),
            Self::Chat { .. } => Ok(ActOutcome::Ended),
            Self::AgUi(_) | Self::Pause { .. } => Ok(ActOutcome::Works),
            Self::Look { .. } => Ok(ActOutcome::Seen(RunWait::Nothing, Vec::new())),
        }
    }
}

/// Returns the name of the kind of request that an answer is for.
pub(crate) fn request_kind(answer: &PendingAnswer) -> &'static str {
    match answer.given {
        RequestAnswer::Decided(_) => "open request",
        RequestAnswer::Returned(_) => "open call",
        RequestAnswer::Answered(_) => "open question",
    }
}
