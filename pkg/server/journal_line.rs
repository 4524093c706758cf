//! The parts of a journal's line that the service reads.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::types::Text;

/// A line, with messages as its reader wants them.
#[derive(Deserialize)]
pub(super) struct Line<'l, M> {
    #[serde(borrow, bound(deserialize = "M: Deserialize<'de>"))]
    pub(super) record: Record<'l, M>,
}

#[derive(Deserialize)]
pub(super) struct Record<'l, M> {
    pub(super) began: Option<Began>,
    #[serde(borrow, bound(deserialize = "M: Deserialize<'de>"))]
    pub(super) took: Option<Took<'l, M>>,
    pub(super) rewound: Option<Rewound>,
}

/// The beginning of a run.
#[derive(Deserialize)]
pub(super) struct Began {
    pub(super) state: State,
}

#[derive(Deserialize)]
pub(super) struct State {
    pub(super) outcome: Outcome,
}

#[derive(Deserialize)]
pub(super) struct Outcome {
    pub(super) run_id: Text,
}

/// An input that a run took; the messages of other versions are not read.
#[derive(Deserialize)]
pub(super) struct Took<'l, M> {
    #[serde(borrow)]
    pub(super) input: Option<&'l RawValue>,
    pub(super) messages: Vec<M>,
    #[serde(default)]
    pub(super) events: u64,
}

/// The runs from this one on were taken back.
#[derive(Deserialize)]
pub(super) struct Rewound {
    pub(super) run: Text,
}
