//! The parts of a journal line that the service reads.

use serde::Deserialize;
use serde_json::value::RawValue;

use forgeline_types::Text;

/// A line, with messages of the type that its reader needs.
#[derive(Deserialize)]
pub(crate) struct Line<'l, M> {
    #[serde(borrow, bound(deserialize = "M: Deserialize<'de>"))]
    pub(crate) record: Record<'l, M>,
}

#[derive(Deserialize)]
pub(crate) struct Record<'l, M> {
    pub(crate) began: Option<Began>,
    #[serde(borrow, bound(deserialize = "M: Deserialize<'de>"))]
    pub(crate) took: Option<Took<'l, M>>,
    pub(crate) rewound: Option<Rewound>,
}

/// The start of a run.
#[derive(Deserialize)]
pub(crate) struct Began {
    pub(crate) state: State,
}

#[derive(Deserialize)]
pub(crate) struct State {
    pub(crate) outcome: Outcome,
}

#[derive(Deserialize)]
pub(crate) struct Outcome {
    pub(crate) run_id: Text,
}

/// An input that a run took. Messages of other versions are not read.
#[derive(Deserialize)]
pub(crate) struct Took<'l, M> {
    #[serde(borrow)]
    pub(crate) input: Option<&'l RawValue>,
    pub(crate) messages: Vec<M>,
    #[serde(default)]
    pub(crate) events: u64,
}

/// A rewind that took back the runs from this one on.
#[derive(Deserialize)]
pub(crate) struct Rewound {
    pub(crate) run: Text,
}
