//! The models of Preferred Networks.

use super::prelude::*;

/// Plamo 3: a marker around every part.
pub(super) const PLAMO3: ModelFamily = ModelFamily::new("plamo3")
    .example(r#"<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>calculator<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{"expression": "6 * 7"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"#)
    .wrappers(&[
        Wrapper::new("<|plamo:tag|>", "<|plamo:end|>").around_text(),
        Wrapper::new(
            "<|plamo:begin_tool_requests:plamo|>",
            "<|plamo:end_tool_requests:plamo|>",
        ),
        Wrapper::new(
            "<|plamo:begin_tool_request:plamo|>",
            "<|plamo:end_tool_request:plamo|>",
        ),
    ])
    .calls(&[named(
        "<|plamo:begin_tool_name:plamo|>",
        "<|plamo:end_tool_arguments:plamo|>",
        HeaderStyle::between("<|plamo:end_tool_name:plamo|>", "<|plamo:msg|>"),
    )])
    .thinking(
        Thinking::new("plamo3")
            .example("<|plamo:begin_think:plamo|>Six times seven.<|plamo:end_think:plamo|>It is 42.")
            .sections(&[Section::new("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>")])
            .ignored(&["<|plamo:tag|>"]),
    )
    .turn_ends(&["<|plamo:eot:plamo|>", "<|plamo:op|>"])
    .models(&[FamilyModels::inside("plamo3", "plamo-3")]);
