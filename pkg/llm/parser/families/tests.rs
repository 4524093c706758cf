//! The entry that `docs/guide/adding-a-dialect.md` adds, compiled.

#[rustfmt::skip]
mod example {
use crate::families::prelude::*;

use crate::builder::PayloadGrammar;

/// Example 7B: a name, an arrow, and the arguments as JSON.
pub(super) const EXAMPLE: ModelFamily = ModelFamily::new("example")
    .example(r#"[[calls]] [[run]]calculator >> {"expression": "6 * 7"}[[end]] [[/calls]]"#)
    .wrappers(&[Wrapper::new("[[calls]]", "[[/calls]]")])
    .calls(&[CallForm::new("[[run]]", "[[end]]", PayloadGrammar::NameThenJson { separator: ">>" })])
    .results(ResultForm::new("[[result]]{content}[[/result]]", "\n"))
    .models(&[FamilyModels::plain("example-7b")]);
}

pub(crate) const EXAMPLE: super::family::ModelFamily = example::EXAMPLE;
