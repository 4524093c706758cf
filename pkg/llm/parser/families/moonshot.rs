//! The models of Moonshot.

use super::prelude::*;

/// The tags of a call of Kimi K3.
const KIMI_K3: Tags = Tags::new(
    ["<|open|>call", "<|close|>call<|sep|>"],
    ["<|open|>argument", "<|close|>argument<|sep|>"],
    "<|sep|>",
)
.object(["<|open|>json", "<|close|>json<|sep|>"])
.entities();

/// Kimi K2: sections of calls, each with an id that contains its name. K2-Thinking writes the opener
/// of thinking itself.
pub(super) const KIMI_K2: ModelFamily = ModelFamily::new("kimi-k2")
    .example(r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.calculator:0<|tool_call_argument_begin|>{"expression": "6 * 7"}<|tool_call_end|><|tool_calls_section_end|>"#)
    .wrappers(&[
        Wrapper::new("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        Wrapper::new("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
    ])
    .calls(&[named("<|tool_call_begin|>", "<|tool_call_end|>", HeaderStyle::KIMI)])
    // Some servers strip the markers before the id.
    .bare(BareCall::Id("<|tool_call_argument_begin|>"))
    .thinking(
        Thinking::new("kimi-legacy")
            .example("◁think▷Six times seven.◁/think▷It is 42.")
            .sections(&[Section::new("◁think▷", "◁/think▷")])
            .framing(1, 1, 2),
    )
    .results(ResultForm::new("## Return of {id}\n{content}", "\n\n"))
    .turn_ends(&["<|im_end|>"])
    .models(&[
        FamilyModels::thinking("think", "kimi-k2-thinking"),
        FamilyModels::inside("think", "kimi-k2.5 kimi-k2.6 kimi-k2.7"),
        FamilyModels::plain("kimi-k2 kimi-linear"),
    ]);

/// Kimi K3: one grammar of elements for calls, reasoning and text.
pub(super) const KIMI_K3_FAMILY: ModelFamily = ModelFamily::new("kimi-k3")
    .example(r#"<|open|>tools<|sep|><|open|>call tool="calculator" index="1"<|sep|><|open|>argument key="expression" type="string"<|sep|>6 * 7<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#)
    .wrappers(&[
        Wrapper::new("<|open|>response<|sep|>", "<|close|>response<|sep|>").around_text(),
        Wrapper::new("<|close|>message<|sep|>", "<|end_of_msg|>").around_text(),
        Wrapper::new("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
    ])
    .calls(&[CallForm::tagged(KIMI_K3)])
    .thinking(
        Thinking::new("kimi-k3")
            .example("<|open|>think<|sep|>Six times seven.<|close|>think<|sep|><|open|>response<|sep|>It is 42.<|close|>response<|sep|>")
            .sections(&[Section::new("<|open|>think<|sep|>", "<|close|>think<|sep|>")])
            .headers(&[Marker::exact("<|open|>response<|sep|>")])
            .ignored(&[
                "<|open|>response<|sep|>",
                "<|close|>response<|sep|>",
                "<|close|>message<|sep|>",
                "<|end_of_msg|>",
            ])
            .starts_inside(),
    )
    .turn_ends(&["<|end_of_msg|>"])
    .strays(&[
        "<|close|>think",
        "<|close|>response",
        "<|close|>tools",
        "<|close|>call",
        "<|close|>argument",
        "<|close|>json",
        "<|close|>",
        "<|sep|>",
    ])
    .models(&[FamilyModels::inside("kimi-k3", "kimi-k3")]);
