//! The models of Tencent.

use super::prelude::*;

/// Describes a tag of Hunyuan that may have a suffix, and its end.
#[expect(clippy::large_types_passed_by_value, reason = "constant functions, run by the compiler")]
const fn suffixed(
    opener: Marker<'static>,
    closer: &'static str,
    grammar: CallGrammar,
) -> CallForm<'static> {
    CallForm::from_markers(opener, Markers::One(Marker::suffixed_tag(closer)), grammar)
}

/// Hunyuan: an array of calls in `<tool_calls>` (A13B), or calls with keys and values inside it (3 and
/// 4), which think if an effort is requested; their tags may have a suffix.
pub(super) const HUNYUAN_FAMILY: ModelFamily = ModelFamily::new("hunyuan")
    .example(r#"<tool_calls>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]</tool_calls>"#)
    .wrappers(&[Wrapper::from_markers(
        Marker::suffixed_tag("<tool_calls").before(b"<"),
        Marker::suffixed_tag("</tool_calls"),
    )])
    .calls(&[
        suffixed(
            Marker::suffixed_tag("<tool_calls").before(b"[{"),
            "</tool_calls",
            CallGrammar::JSON,
        ),
        suffixed(
            Marker::suffixed_tag("<tool_call"),
            "</tool_call",
            CallGrammar::JSON.or_text(TextRules::Tags(HUNYUAN)),
        ),
    ])
    .own_thinking(
        Thinking::new("hunyuan")
            .example("<think>\nSix times seven.\n</think>\n<answer>\nIt is 42.\n</answer>")
            .sections(&[
                Section::new("<think>", "</think>"),
                SUFFIXED_THINK,
            ])
            .framing(1, 1, 2)
            .ignored_markers(&[
                Marker::tag("<answer"),
                Marker::tag("\n</answer"),
                Marker::tag("</answer"),
            ])
            .after_ignored(1),
    )
    .results(
        ResultForm::TOOL_RESPONSE.within("<tool_responses>\n", "\n</tool_responses>"),
    )
    .turn_ends(&[
        "<|eos|>",
        "<｜hy_eos｜>",
        "<｜hy_eos:opensource｜>",
        "<｜hy_place▁holder▁no▁2｜>",
    ])
    .models(&[FamilyModels::thinking("hunyuan", "hy3 hy4 hunyuan")]);

/// Hunyuan 4: keys and values in tags that may have a suffix.
pub(super) const HY4: ModelFamily = ModelFamily::new("hy4")
    .example("<tool_calls><tool_call>calculator<tool_sep><arg_key>expression</arg_key><arg_value>6 * 7</arg_value></tool_call></tool_calls>")
    .wrappers(&[Wrapper::from_markers(
        Marker::suffixed_tag("<tool_calls"),
        Marker::suffixed_tag("</tool_calls"),
    )])
    .calls(&[CallForm::from_markers(
        Marker::suffixed_tag("<tool_call"),
        Markers::One(Marker::suffixed_tag("</tool_call")),
        CallGrammar::JSON.or_text(TextRules::Tags(HUNYUAN)),
    )])
    .in_auto(InAuto::Nothing)
    .results(
        ResultForm::TOOL_RESPONSE.within("<tool_responses>\n", "\n</tool_responses>"),
    )
    .turn_ends(&["<|eos|>", "<｜hy_eos｜>", "<｜hy_eos:opensource｜>"]);
