//! What `auto` knows of Phi-4-mini: its word counts at the start of a message only.

use std::borrow::Cow;

use crate::llm::parser::{
    
    description::{Bare, Tools},
};

pub(in crate::llm::parser) static TOOLS: Tools = Tools {
    name: "",
    example: "",
    wrappers: Cow::Borrowed(&[]),
    calls: Cow::Borrowed(&[]),
    bare: Some(Bare::Word("functools")),
};
