//! The models of Sber.

use super::prelude::*;

/// The tags of `GigaChat` 3.5.
const GIGACHAT: Tags = Tags::new(
    ["<｜GCML｜invoke", "</｜GCML｜invoke>"],
    ["<｜GCML｜parameter", "</｜GCML｜parameter>"],
    ">",
);

/// `GigaChat` 3: a marker and one call; 3.5 writes functions and parameters in tags.
pub(super) const GIGACHAT3: ModelFamily = ModelFamily::new("gigachat3")
    .example(r#"<|function_call|>{"name": "calculator", "arguments": {"expression": "6 * 7"}}"#)
    .wrappers(&[
        Wrapper::new("<|message_sep|>\n\n", "<|role_sep|>").around_text(),
        Wrapper::new("<｜GCML｜tool_calls>", "</｜GCML｜tool_calls>"),
    ])
    .calls(&[
        open("<|function_call|>", CallGrammar::JSON),
        open("<|message_sep|>\n\nfunction call<|role_sep|>\n", CallGrammar::JSON),
        CallForm::tagged(GIGACHAT),
    ])
    .bare(BareCall::Word("function call<|role_sep|>\n"))
    .turn_ends(&["<|message_sep|>"])
    .models(&[
        // The base model opens no reasoning.
        FamilyModels::inside("think", "gigachat-3.5*reasoning"),
        FamilyModels::thinking("think", "gigachat-3.5"),
        FamilyModels::plain("gigachat-3.1 gigachat-3"),
    ]);
