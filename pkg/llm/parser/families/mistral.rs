//! The models of Mistral.

use super::prelude::*;

/// Mistral: `[TOOL_CALLS]` and an array of calls (v3 to v7), or a name and the arguments (v11 on).
/// The first Magistral wrote tags as text.
pub(super) const MISTRAL: ModelFamily = ModelFamily::new("mistral")
    .example(r#"[TOOL_CALLS]calculator[ARGS]{"expression": "6 * 7"}"#)
    .calls(&[open(
        "[TOOL_CALLS]",
        CallGrammar::json(JsonShape::CallsWithIds).or_text(TextRules::Named(HeaderStyle::MISTRAL)),
    )])
    // Some servers strip the marker before the name.
    .bare(BareCall::Header("[ARGS]", HeaderStyle::MISTRAL))
    .thinking(
        Thinking::new("mistral")
            .example("[THINK]Six times seven.[/THINK]It is 42.")
            .sections(&[Section::new("[THINK]", "[/THINK]")]),
    )
    .results(ResultForm::new("[TOOL_RESULTS]{content}[/TOOL_RESULTS]", ""))
    .models(&[
        FamilyModels::thinking("think", "magistral*2506"),
        FamilyModels::thinking(
            "mistral",
            "magistral ministral-3 mistral-small-4 mistral-medium-3.5",
        ),
        FamilyModels::plain("ministral devstral codestral mixtral pixtral voxtral mistral"),
    ]);
