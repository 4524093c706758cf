//! The ends of brackets.

use super::values::{Bracket, State, Values};
use crate::grammar::arguments::JsonOut;
use forgeline_types::Repair;

impl Values {
    /// Returns `true` if `byte` closes a bracket around the innermost one.
    fn closes_outer(&self, byte: u8) -> bool {
        let outer = self.brackets.split_last().map_or(&[][..], |(_, outer)| outer);
        match byte {
            b')' => true,
            b']' => outer.contains(&Bracket::List),
            _ => outer.iter().any(|it| matches!(it, Bracket::Dict | Bracket::Set)),
        }
    }

    /// Closes the innermost bracket at `byte`; returns `true` if that was the call's.
    pub(super) fn close_bracket(
        &mut self,
        byte: u8,
        out: &mut impl JsonOut,
    ) -> Result<bool, &'static str> {
        let is_empty = matches!(self.state, State::First);
        match (self.innermost(), byte) {
            (Bracket::Call, b')') => {
                self.arguments.finish(out);
                return Ok(true);
            }
            (Bracket::Dict, b'}') => out("}"),
            (Bracket::List, b']') | (Bracket::Tuple, b')') | (Bracket::Set, b'}') => out("]"),
            (Bracket::Parenthesis, b')') if is_empty => out("]"),
            (Bracket::Parenthesis, b')') => {
                return Err("parentheses around one value make no tuple");
            }
            _ if is_empty || !self.closes_outer(byte) => {
                return Err("this bracket closes another");
            }
            (Bracket::Call | Bracket::Parenthesis, _) => {
                return Err("this bracket closes another");
            }
            (inner, _) => {
                self.repairs.insert(Repair::MissingBracket);
                out(if inner == Bracket::Dict { "}" } else { "]" });
                self.brackets.pop();
                self.state = State::AfterValue;
                return self.close_bracket(byte, out);
            }
        }
        self.brackets.pop();
        self.state = State::AfterValue;
        Ok(false)
    }
}
