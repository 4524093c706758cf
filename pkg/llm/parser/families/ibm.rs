//! The models of IBM.

use super::prelude::*;

const GRANITE_ANSWERS: Markers<'static> =
    Markers::Spelled(&["Here is my response:", "Here's my response:"]);

/// Granite 3: a marker and an array of calls, or a marker and one call; reasoning in plain words.
/// In `auto`, JSON after `<|tool_call|>` ends itself, and everything else is call syntax.
pub(super) const GRANITE: ModelFamily = ModelFamily::new("granite")
    .example(r#"<|tool_call|>[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]"#)
    .wrappers(&[Wrapper::from_markers(
        Marker::tag("<tool_call").before(b"<"),
        Marker::tag("</tool_call"),
    )])
    .calls(&[
        open("<|tool_call|>", CallGrammar::JSON),
        open("<function_call>", CallGrammar::JSON),
        CallForm::open(Marker::tag("<tool_call").before(b"[{"), CallGrammar::JSON),
    ])
    .bare(BareCall::PythonLines)
    .own_thinking(
        Thinking::new("granite")
            .example("Here is my thought process:\n\nSix times seven.\n\nHere is my response:\n\nIt is 42.")
            .sections(&[
                Section::from_markers(Marker::spelled("Here is my thought process:"), GRANITE_ANSWERS),
                Section::from_markers(Marker::spelled("Here's my thought process:"), GRANITE_ANSWERS),
                Section::new("<think>", "</think>"),
            ])
            .framing(2, 2, 2)
            .ignored_markers(RESPONSE)
            .after_ignored(1)
            .only_at_start(),
    )
    .in_auto(InAuto::As(
        ToolDialectBuilder::new("granite")
            .wrappers(&[Wrapper::from_markers(
                Marker::exact("<|tool_call|>").before(b"<"),
                Marker::exact("<|/tool_call|>"),
            )])
            .calls(&[
                CallForm::open(Marker::exact("<|tool_call|>").before(b"[{"), CallGrammar::JSON),
                open("<function_call>", CallGrammar::JSON),
                CallForm::from_markers(
                    Marker::exact("<|tool_call|>"),
                    Markers::Spelled(&["<|/tool_call|>", "<tool_call|>"]),
                    CallGrammar::text(GEMMA),
                ),
            ]),
    ))
    .turn_ends(&["<|end_of_text|>", "<|endoftext|>"])
    .models(&[
        FamilyModels::thinking("granite", "granite-3.3 granite-3.2"),
        FamilyModels::plain("granite-3.x granite-3 granite-20b"),
    ]);

/// Granite 4: JSON as Hermes writes it, or Python calls without markers on lines of their own.
pub(super) const GRANITE4: ModelFamily = ModelFamily::new("granite4")
    .example("<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}\n</tool_call>")
    .calls(&[call("<tool_call>", "</tool_call>", JSON_OR_QWEN)])
    .bare(BareCall::PythonLines)
    .in_auto(InAuto::Nothing)
    .results(ResultForm::TOOL_RESPONSE)
    .turn_ends(&["<|end_of_text|>", "<|im_end|>", "<|endoftext|>"])
    .models(&[FamilyModels::plain("granite-4.x granite-4")]);
