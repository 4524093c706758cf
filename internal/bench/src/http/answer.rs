//! The answers that are served.

use crate::{corpus, reading::Reading};

/// Deltas of an answer before they repeat.
pub(super) const DELTAS: usize = 1000;

/// What opens and what ends the arguments of the call.
pub(super) const AROUND: [&str; 2] = [r#"{"text":""#, r#""}"#];

/// What a model says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Text,
    /// One call of `write` with a long text.
    Call,
}

impl Answer {
    /// Compares what arrives with `count` pieces of the answer, without what stands around them.
    pub(super) fn reading(self, count: usize) -> Reading {
        let deltas = self.deltas();
        let rest: usize = deltas.iter().take(count % DELTAS).map(String::len).sum();
        // A reader of a short answer holds no more than that: its memory is measured.
        let text: String = deltas.into_iter().take(count.clamp(1, DELTAS)).collect();
        let left = text.len() * (count / DELTAS) + rest;
        Reading::new(text, left)
    }

    /// The pieces, as they arrive.
    pub(super) fn deltas(self) -> Vec<String> {
        let arrives = |piece: &str| match self {
            Self::Text => piece.to_owned(),
            Self::Call => inside(piece),
        };
        corpus::words(DELTAS).into_iter().map(arrives).collect()
    }

    /// What opens the response.
    pub(super) fn first(self) -> String {
        match self {
            Self::Text => corpus::delta_event(r#"{"role":"assistant","content":""}"#),
            Self::Call => corpus::delta_event(&format!(
                r#"{{"role":"assistant","tool_calls":[{{"index":0,"id":"call_1","type":"function","function":{{"name":"write","arguments":{}}}}}]}}"#,
                corpus::quoted(AROUND[0]),
            )),
        }
    }

    /// The event of a piece.
    pub(super) fn event(self, piece: &str) -> String {
        let quoted = corpus::quoted(piece);
        match self {
            Self::Text => corpus::delta_event(&format!(r#"{{"content":{quoted}}}"#)),
            Self::Call => corpus::delta_event(&format!(
                r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{quoted}}}}}]}}"#
            )),
        }
    }

    /// What ends the response: the reason, and the marker behind it.
    pub(super) fn last(self) -> Vec<String> {
        match self {
            Self::Text => vec![corpus::END.to_owned()],
            Self::Call => {
                vec![self.event(AROUND[1]), corpus::END.replace(r#""stop""#, r#""tool_calls""#)]
            }
        }
    }
}

/// `text` as it stands inside the quotes of JSON.
fn inside(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').trim_end_matches('"').to_owned()
}
