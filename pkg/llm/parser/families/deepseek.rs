//! The models of DeepSeek.

use super::prelude::*;

const DEEPSEEK_CALLS: Wrapper<'static> =
    Wrapper::new("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>");
const DEEPSEEK_CALL: CallForm<'static> =
    named("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", HeaderStyle::DEEPSEEK);
/// The tags of DeepSeek V3.2 and V4.
const DSML: Tags = Tags::new(
    ["<｜DSML｜invoke", "</｜DSML｜invoke>"],
    ["<｜DSML｜parameter", "</｜DSML｜parameter>"],
    ">",
);

/// The tags of DeepSeek V4.1, with a space in each.
const SPACED_DSML: Tags = Tags::new(
    ["<｜DSML｜ invoke", "</｜DSML｜ invoke>"],
    ["<｜DSML｜ parameter", "</｜DSML｜ parameter>"],
    ">",
);

/// DeepSeek V3 and R1: `function`, a name, and a fence with the arguments.
pub(super) const DEEPSEEK_V3: ModelFamily = ModelFamily::new("deepseek-v3")
    .example("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>calculator\n```json\n{\"expression\": \"6 * 7\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>")
    .wrappers(&[DEEPSEEK_CALLS])
    .calls(&[DEEPSEEK_CALL])
    .in_auto(InAuto::Nothing)
    .results(
        ResultForm::new("<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>", "\n")
            .within("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
    )
    .turn_ends(&["<｜end▁of▁sentence｜>", "<|EOT|>"])
    .models(&[
        FamilyModels::inside("think", "deepseek*chimera").tuned(),
        FamilyModels::inside("think", "deepseek-r1 deepseek-reasoner"),
        FamilyModels::plain("deepseek-v3 deepseek-chat deepseek-v2.5 deepseek*v2"),
    ]);

/// DeepSeek V3.1: a name and the arguments. From here on, thinking is off unless it is switched on.
pub(super) const DEEPSEEK_V31: ModelFamily = ModelFamily::new("deepseek-v31")
    .example(r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator<｜tool▁sep｜>{"expression": "6 * 7"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#)
    .wrappers(&[DEEPSEEK_CALLS])
    .calls(&[DEEPSEEK_CALL])
    .results(ResultForm::new("<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>", ""))
    .turn_ends(&["<｜end▁of▁sentence｜>"])
    .models(&[FamilyModels::thinking("think", "deepseek-v3.2-exp deepseek-v3.1")]);

/// DeepSeek V3.2, V4 and V4.1: functions and typed parameters in special tags.
pub(super) const DSML_FAMILY: ModelFamily = ModelFamily::new("dsml")
    .example("<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"calculator\">\n<｜DSML｜parameter name=\"expression\" string=\"true\">6 * 7</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>")
    .wrappers(&[
        Wrapper::new("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
        Wrapper::new("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
        Wrapper::new("<｜DSML｜ calls>", "</｜DSML｜ calls>"),
        // A slip of the model.
        Wrapper::new("<｜DSML｜toolcalls>", "</｜DSML｜toolcalls>"),
    ])
    .calls(&[CallForm::tagged(DSML), CallForm::tagged(SPACED_DSML)])
    .results(ResultForm::new("<tool_result>{content}</tool_result>", "\n\n"))
    .turn_ends(&["<｜end▁of▁sentence｜>"])
    .models(&[FamilyModels::thinking("think", "deepseek-v4.x deepseek-v4 deepseek-v3.2")]);
