//! The calls of a request, whose results name them, and of an answer, whose names may come late.

use super::{AnswerPiece, RequestProblem};
use forgeline_types::{AgentEvent, Text, ToolCall};

/// The ids and names of the calls that a request had so far.
#[derive(Debug, Default)]
pub(crate) struct CallNames(Vec<(Text, Text)>);

impl CallNames {
    /// Returns the number of calls.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a call.
    pub(crate) fn add(&mut self, call: &ToolCall) {
        self.0.push((call.id.clone(), call.name.clone()));
    }

    /// Returns the name of the last call with this id; `place` has the id.
    pub(crate) fn name_of(&self, id: &str, place: &str) -> Result<Text, RequestProblem> {
        let known = self.0.iter().rev().find(|(call, _)| call == id);
        known.map(|(_, name)| name.clone()).ok_or_else(|| {
            RequestProblem::new(place, format!("no call before it has the id {id:?}"))
        })
    }
}

/// The calls of an answer that began without a name: protocols that name a call at its beginning get such a call whole, at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct NamedCalls(Vec<(u32, Text, String)>);

impl NamedCalls {
    /// Passes a piece on; those of a call without a name wait for its end.
    pub(crate) fn take(&mut self, piece: &AnswerPiece<'_>, out: &mut impl FnMut(AnswerPiece<'_>)) {
        match *piece {
            AnswerPiece::CallStart { index, id, name: None } => {
                self.0.push((index, id.clone(), String::new()));
            }
            AnswerPiece::Arguments { index, json } => match self.waiting(index) {
                Some(at) => self.0.iter_mut().skip(at).take(1).for_each(|it| it.2.push_str(json)),
                None => out(*piece),
            },
            AnswerPiece::CallEnd { index, name, .. } => {
                if let Some(at) = self.waiting(index) {
                    let (_, id, json) = self.0.remove(at);
                    let unnamed = Text::new();
                    let name = name.or(Some(&unnamed));
                    out(AnswerPiece::CallStart { index, id: &id, name });
                    out(AnswerPiece::Arguments { index, json: &json });
                }
                out(*piece);
            }
            AnswerPiece::CallStart { .. }
            | AnswerPiece::Thinking(_)
            | AnswerPiece::ThinkingEnd
            | AnswerPiece::Text { .. }
            | AnswerPiece::TextEnd
            | AnswerPiece::Item(_)
            | AnswerPiece::Usage(_)
            | AnswerPiece::Failed(_) => out(*piece),
        }
    }

    fn waiting(&self, index: u32) -> Option<usize> {
        self.0.iter().position(|(waiting, ..)| *waiting == index)
    }
}

/// A writer of a protocol that names a call at its beginning.
pub(crate) trait PieceWriter {
    /// Returns the calls that wait for their names.
    fn unnamed(&mut self) -> &mut NamedCalls;

    /// Writes a piece; each call has its name.
    fn piece(&mut self, piece: &AnswerPiece<'_>, out: &mut String);

    /// Returns the frames of an event.
    fn write(&mut self, event: &AgentEvent) -> String {
        let mut out = String::new();
        if let Some(piece) = AnswerPiece::of(event) {
            let mut unnamed = std::mem::take(self.unnamed());
            unnamed.take(&piece, &mut |piece| self.piece(&piece, &mut out));
            *self.unnamed() = unnamed;
        }
        out
    }
}
