//! Calls that have ended while their answer continues.

use super::{Completion, CompletionBuilder, Part, ToolCall, completion_builder::is_absent};

/// A position among the parts of an unfinished answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartPlace {
    /// The number of parts before the position.
    parts: usize,
    /// The number of bytes before the position in the text that follows these parts.
    bytes: usize,
}

impl CompletionBuilder {
    /// Returns the `number`th call if it has certainly ended, although the answer continues, with the parts of the
    /// answer from `place` up to and including it.
    #[doc(hidden)]
    pub fn sealed(&self, number: usize, place: &mut PartPlace) -> Option<(ToolCall, Vec<Part>)> {
        let Completion { tool_calls, finish_reason, .. } = &self.completion;
        let call = tool_calls.get(number).filter(|call| call.index as usize == number)?;
        // Arguments of which nothing arrived may belong to a truncated answer.
        if is_absent(&call.arguments_raw) && finish_reason.is_none() {
            return None;
        }
        Some((call.clone(), self.parts_to_call(call.index, place)))
    }

    /// Returns the parts after `place` up to call `index`, which has ended, and moves `place` there.
    fn parts_to_call(&self, index: u32, place: &mut PartPlace) -> Vec<Part> {
        let Completion { parts, tool_calls, .. } = &self.completion;
        let number =
            |part: &Part| if let Part::ToolCall(it) = part { Some(it.index) } else { None };
        let of_call = parts.iter().position(|part| number(part) == Some(index));
        let later = || parts.iter().position(|part| number(part) > Some(index));
        let end = of_call.map(|at| at + 1).or_else(later).unwrap_or(parts.len());
        let (first, from) = (place.parts, place.bytes);
        let mut out = Vec::new();
        for (at, part) in parts.iter().enumerate().take(end).skip(first) {
            *place = PartPlace { parts: at + 1, bytes: 0 };
            let mut part = part.clone();
            if let Part::ToolCall(call) = &mut part
                && let Some(made) = tool_calls.iter().find(|made| made.index == call.index)
            {
                *call = ToolCall { signature: call.signature.take(), ..made.clone() };
            }
            if let Part::Text { text } = &mut part {
                if at + 1 == parts.len() {
                    // The last text may still grow.
                    *place = PartPlace { parts: at, bytes: text.len() };
                }
                if at == first {
                    text.drain(..from);
                }
            }
            out.push(part);
        }
        out
    }
}
