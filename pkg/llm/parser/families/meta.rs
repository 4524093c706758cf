//! The models of Meta.

use super::prelude::*;

/// Llama 3: bare JSON, or JSON after `<|python_tag|>`.
pub(super) const LLAMA3_JSON: ModelFamily = ModelFamily::new("llama3-json")
    .example(r#"{"name": "calculator", "parameters": {"expression": "6 * 7"}}"#)
    .calls(&[open("<|python_tag|>", CallGrammar::JSON.or_text(TextRules::Python))])
    .bare(BareCall::Json)
    .turn_ends(&["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>"])
    .models(&[FamilyModels::plain("llama-3.1 llama-3.2 llama-3.3 llama-3")]);

/// Llama 4, `ToolACE`, LFM2: a list of Python calls.
pub(super) const PYTHONIC: ModelFamily = ModelFamily::new("pythonic")
    .example(r#"[calculator(expression="6 * 7")]"#)
    .calls(&[
        call(
            "<|python_start|>",
            "<|python_end|>",
            CallGrammar::json(JsonShape::OneCall).or_text(TextRules::Python),
        ),
        call("<|tool_call_start|>", "<|tool_call_end|>", CallGrammar::text(TextRules::Python)),
    ])
    .bare(BareCall::Python)
    .turn_ends(&["<|eot|>", "<|eom|>", "<|eot_id|>", "<|end_of_text|>", "<|im_end|>"])
    .models(&[
        FamilyModels::plain("toolace watt-tool").tuned(),
        FamilyModels::plain("llama-4 lfm2"),
        FamilyModels::thinking("think", "lfm2.5"),
    ]);

/// Code World Model: the name in a tag, then JSON or the text of the only argument. Python prints its tools as such
/// tags, and any text may follow, so `auto` does not read them. Text that begins with a tag is one of prose.
pub(super) const CWM: ModelFamily = ModelFamily::new("cwm")
    .example("<tool: calculator>\n{\"expression\": \"6 * 7\"}\n</tool>")
    .calls(&[call("<tool:", "</tool>", CallGrammar::text(TextRules::Named(HeaderStyle::CWM)))])
    .in_auto(InAuto::Nothing)
    .turn_ends(&["<|eot_id|>", "<|end_of_text|>"])
    .models(&[FamilyModels::thinking("think", "cwm")]);
