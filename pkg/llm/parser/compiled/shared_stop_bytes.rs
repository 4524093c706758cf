//! The bytes that matter to both stages.

use crate::{
    compiled::{
        thinking::{CompiledSection, CompiledThinking},
        tools::CompiledTools,
    },
    scan::stop_bytes::StopBytes,
};

/// The bytes where markers of a thinking and a tool-call dialect may begin.
#[derive(Debug)]
pub(crate) struct SharedStopBytes {
    pub(crate) in_message: StopBytes,
    pub(crate) in_thinking: StopBytes,
}

impl SharedStopBytes {
    pub(crate) fn new(thinking: &CompiledThinking, tools: &CompiledTools) -> Self {
        let has_framing = thinking.sections.iter().any(|one| one.framing.before_closer > 0);
        let CompiledSection { closers, headers, inline, .. } = &thinking.any;
        let in_thinking = StopBytes::new([closers, headers, inline, &tools.text]);
        Self {
            in_message: StopBytes::new([&thinking.text, &tools.text]),
            in_thinking: if has_framing { in_thinking.behind_line_ends() } else { in_thinking },
        }
    }
}
