//! JSON that a grammar forces on any model (`tool_choice` required).

use std::borrow::Cow;

use crate::llm::parser::{
    
    description::{Bare, Tools},
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "guided",
    example: r#"[{"name": "calculator", "parameters": {"expression": "6 * 7"}}]"#,
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[]),
    bare: Some(Bare::Json),
};
