//! The entry that `docs/adding-a-dialect.md` adds, compiled.

use super::{
    family::{FamilyModels, ModelFamily},
    results::ResultForm,
};
use crate::builder::{CallForm, PayloadGrammar, Wrapper};

#[rustfmt::skip]
pub(crate) const ENTRY: ModelFamily =
    // Example 7B: a name, an arrow, and the arguments as JSON.
    ModelFamily::new("example")
        .example(r#"[[calls]] [[run]]calculator >> {"expression": "6 * 7"}[[end]] [[/calls]]"#)
        .wrappers(&[Wrapper::new("[[calls]]", "[[/calls]]")])
        .calls(&[CallForm::new("[[run]]", "[[end]]", PayloadGrammar::NameThenJson { separator: ">>" })])
        .results(ResultForm::new("[[result]]{content}[[/result]]", "\n"))
        .models(&[FamilyModels::plain("example-7b")])
;
