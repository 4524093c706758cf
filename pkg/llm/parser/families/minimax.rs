//! The models of `MiniMax`.

use super::prelude::*;

/// `MiniMax` M2: functions and parameters in tags.
pub(super) const MINIMAX_M2: ModelFamily = ModelFamily::new("minimax-m2")
    .example("<minimax:tool_call>\n<invoke name=\"calculator\">\n<parameter name=\"expression\">6 * 7</parameter>\n</invoke>\n</minimax:tool_call>")
    .wrappers(&[Wrapper::new("<minimax:tool_call>", "</minimax:tool_call>")])
    .calls(&[CallForm::tagged(INVOKE)])
    .results(ResultForm::new("<response>{content}</response>", "\n"))
    .turn_ends(&["[e~["])
    .models(&[FamilyModels::inside("think", "minimax-m2.x minimax-m2")]);

/// `MiniMax` M3: elements after a marker. The model decides whether to think.
pub(super) const MINIMAX_M3: ModelFamily = ModelFamily::new("minimax-m3")
    .example("]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"calculator\">]<]minimax[>[<expression>6 * 7]<]minimax[>[</expression>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>")
    .wrappers(&[Wrapper::new("]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>")])
    .calls(&[CallForm::front(
        Marker::exact("]<]minimax[>[<invoke"),
        CallGrammar::NONE.or_markup(MarkupRules::Elements),
    )])
    .thinking(
        Thinking::new("minimax-m3")
            .example("<mm:think>Six times seven.</mm:think>It is 42.")
            .sections(&[Section::new("<mm:think>", "</mm:think>")]),
    )
    .results(ResultForm::new("<response>{content}</response>", "\n"))
    .turn_ends(&["[e~["])
    .strays(&["]<]minimax[>[</invoke>"])
    .models(&[FamilyModels::thinking("minimax-m3", "minimax-m3")]);
