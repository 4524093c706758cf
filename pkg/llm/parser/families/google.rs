//! The models of Google.

use super::prelude::*;

const GEMMA_BARE: BareCall = BareCall::Syntax { quote: "<|\"|>", offered: NameCheck::IfKnown };
const GEMMA_RESULTS: Wrapper<'static> = Wrapper::new("<|tool_response>", "<turn|>").around_text();
const GEMMA_CALL: CallForm<'static> =
    call("<|tool_call>", "<tool_call|>", CallGrammar::JSON.or_text(GEMMA));
/// Describes a call of Gemma 4 whose marker was omitted by the model or the server.
const fn gemma_without_marker(opener: &'static str) -> CallForm<'static> {
    CallForm::front(Marker::call(opener), CallGrammar::text(GEMMA)).offered()
}

/// Gemma 4: call syntax with strings between markers.
pub(super) const GEMMA4: ModelFamily = ModelFamily::new("gemma4")
    .example(r#"<|tool_call>call:calculator{expression:<|"|>6 * 7<|"|>}<tool_call|>"#)
    .wrappers(&[GEMMA_RESULTS])
    .calls(&[GEMMA_CALL, gemma_without_marker("\ncall:"), gemma_without_marker("<call>")])
    .bare(GEMMA_BARE)
    .in_auto(InAuto::As(
        ToolDialectBuilder::new("gemma4")
            .wrappers(&[GEMMA_RESULTS])
            .calls(&[GEMMA_CALL])
            .bare(GEMMA_BARE),
    ))
    .thinking(
        Thinking::new("gemma4")
            .example("<|channel>thought\nSix times seven.\n<channel|>It is 42.")
            .sections(&[
                Section::new("<|channel>thought", "<channel|>"),
                Section::new("<|channel>", "<channel|>"),
            ])
            .framing(1, 1, 0),
    )
    .results(ResultForm::new(
        "<|tool_response>response:{name}{value:<|\"|>{content}<|\"|>}<tool_response|>",
        "",
    ))
    .turn_ends(&["<turn|>", "<eos>"])
    .models(&[FamilyModels::thinking("gemma4", "gemma-4")]);

/// `FunctionGemma`: call syntax with escaped strings.
pub(super) const FUNCTIONGEMMA: ModelFamily = ModelFamily::new("functiongemma")
    .example(
        "<start_function_call>call:calculator{expression:<escape>6 * 7<escape>}<end_function_call>",
    )
    .wrappers(&[Wrapper::from_markers(
        Marker::exact("<start_function_response>"),
        Marker::exact("<end_function_response>"),
    )
    .around_text()])
    .calls(&[CallForm::from_markers(
        Marker::exact("<start_function_call>"),
        Markers::One(Marker::exact("<end_function_call>")),
        CallGrammar::text(TextRules::Syntax { quote: "<escape>" }),
    )])
    .results(ResultForm::new(
        "<start_function_response>response:{name}{value:<escape>{content}<escape>}\
         <end_function_response>",
        "",
    ))
    .turn_ends(&["<end_of_turn>", "<eos>"])
    .models(&[FamilyModels::plain("functiongemma")]);
