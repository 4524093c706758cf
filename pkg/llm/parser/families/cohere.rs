//! The models of Cohere.

use super::prelude::*;

/// The markers around text of Cohere's models.
const COHERE_TEXT: &[Wrapper<'static>] = &[
    Wrapper::new("<|START_RESPONSE|>", "<|END_RESPONSE|>").around_text(),
    Wrapper::new("<|START_TEXT|>", "<|END_TEXT|>").around_text(),
];

const ACTION: CallForm<'static> =
    call("<|START_ACTION|>", "<|END_ACTION|>", CallGrammar::json(JsonShape::CallsWithIds));
/// The markers around text that Cohere's models take from a document; the second one names the document.
const COHERE_SPANS: &[Marker<'static>] =
    &[Marker::numbered_tag("<co"), Marker::numbered_tag("</co")];

/// Cohere: an array of calls between action markers; text and reasoning have markers too. Command R
/// and R+ write a word, and the array in a fence, which `auto` does not read.
pub(super) const COHERE: ModelFamily = ModelFamily::new("cohere")
    .example(r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "calculator", "parameters": {"expression": "6 * 7"}}]<|END_ACTION|>"#)
    .wrappers(COHERE_TEXT)
    .calls(&[
        ACTION,
        call("Action:\n```json", "```", CallGrammar::JSON),
        call("Action: ```json", "```", CallGrammar::JSON),
        call("Action:```json", "```", CallGrammar::JSON),
    ])
    .inline(COHERE_SPANS)
    .in_auto(InAuto::As(ToolDialectBuilder::new("cohere").wrappers(COHERE_TEXT).calls(&[ACTION])))
    .thinking(
        Thinking::new("cohere")
            .example("<|START_THINKING|>Six times seven.<|END_THINKING|><|START_RESPONSE|>It is 42.<|END_RESPONSE|>")
            .sections(&[Section::new("<|START_THINKING|>", "<|END_THINKING|>")])
            .headers(&[
                Marker::exact("<|START_RESPONSE|>"),
                Marker::exact("<|START_TEXT|>"),
            ])
            .inline(COHERE_SPANS)
            .ignored(&[
                "<|START_RESPONSE|>",
                "<|END_RESPONSE|>",
                "<|START_TEXT|>",
                "<|END_TEXT|>",
                "<|END_OF_TURN_TOKEN|>",
            ]),
    )
    .results(
        ResultForm::new(
            "{\"tool_call_id\": \"{id}\", \"results\": {\"0\": {json}}, \"is_error\": {is_error}}",
            ",\n",
        )
        .within("<|START_TOOL_RESULT|>[\n", "\n]<|END_TOOL_RESULT|>"),
    )
    .turn_ends(&["<|END_OF_TURN_TOKEN|>"])
    .strays(&["<|CHATBOT_TOKEN|>", "<|START_OF_TURN_TOKEN|>"])
    .models(&[
        FamilyModels::inside("cohere", "cohere2moe command-4 north-mini"),
        FamilyModels::thinking("cohere", "command-a command-r7b"),
        FamilyModels::plain("command-r aya-expanse"),
    ]);
