//! The bytes that matter to both stages.

use super::{
    compiled::Compiled,
    compiled_thinking::{CompiledSection, CompiledThinking},
    stops::Stops,
};

/// The bytes where markers of a thinking and a tool-call dialect may begin.
#[derive(Debug)]
pub(crate) struct StopsOfBoth {
    pub(super) in_message: Stops,
    pub(super) in_thinking: Stops,
}

impl StopsOfBoth {
    pub(super) fn new(thinking: &CompiledThinking, tools: &Compiled) -> Self {
        let has_framing = thinking.sections.iter().any(|one| one.framing.before_closer > 0);
        let CompiledSection { closers, headers, inline, .. } = &thinking.any;
        let in_thinking = Stops::new([closers, headers, inline, &tools.text]);
        Self {
            in_message: Stops::new([&thinking.text, &tools.text]),
            in_thinking: if has_framing { in_thinking.behind_line_ends() } else { in_thinking },
        }
    }
}
