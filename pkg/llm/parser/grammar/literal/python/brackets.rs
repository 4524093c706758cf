//! The ends of brackets.

use super::{
    open_bracket::OpenBracket,
    values::{PythonValues, ValuesPhase},
};
use crate::grammar::arguments::JsonOut;
use forgeline_types::Repair;

impl PythonValues {
    /// Returns `true` if `byte` closes a bracket around the innermost one.
    fn closes_outer(&self, byte: u8) -> bool {
        let outer = self.brackets.split_last().map_or(&[][..], |(_, outer)| outer);
        match byte {
            b')' => true,
            b']' => outer.contains(&OpenBracket::List),
            _ => outer.iter().any(|it| matches!(it, OpenBracket::Dict | OpenBracket::Set)),
        }
    }

    /// Closes the innermost bracket at `byte`; returns `true` if that was the call's.
    pub(super) fn close_bracket(
        &mut self,
        byte: u8,
        out: &mut impl JsonOut,
    ) -> Result<bool, &'static str> {
        let is_empty = matches!(self.state, ValuesPhase::First);
        match (self.innermost(), byte) {
            (OpenBracket::Call, b')') => {
                self.arguments.finish(out);
                return Ok(true);
            }
            (OpenBracket::Dict, b'}') => out("}"),
            (OpenBracket::List, b']') | (OpenBracket::Tuple, b')') | (OpenBracket::Set, b'}') => {
                out("]");
            }
            (OpenBracket::Parenthesis, b')') if is_empty => out("]"),
            (OpenBracket::Parenthesis, b')') => {
                return Err("parentheses around one value make no tuple");
            }
            _ if is_empty || !self.closes_outer(byte) => {
                return Err("this bracket closes another");
            }
            (OpenBracket::Call | OpenBracket::Parenthesis, _) => {
                return Err("this bracket closes another");
            }
            (inner, _) => {
                self.repairs.insert(Repair::MissingBracket);
                out(if inner == OpenBracket::Dict { "}" } else { "]" });
                self.brackets.pop();
                self.state = ValuesPhase::AfterValue;
                return self.close_bracket(byte, out);
            }
        }
        self.brackets.pop();
        self.state = ValuesPhase::AfterValue;
        Ok(false)
    }
}
