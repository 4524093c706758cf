//! The list of all families, and the dialects in it.

use super::{
    family::{InAuto, ModelFamily},
    newer, others, recent, shared, vendors,
};
use crate::builder::{ThinkingDialectBuilder, ToolDialectBuilder};

/// All families, in the order in which their dialects are listed; `none`, `auto`, Forge's and
/// `<think>` come first.
const GROUPS: [&[ModelFamily]; 5] =
    [shared::FAMILIES, vendors::FAMILIES, others::FAMILIES, newer::FAMILIES, recent::FAMILIES];

/// The number of tool-call dialects.
pub(crate) const TOOL_COUNT: usize = counts().0;
/// The number of thinking dialects.
pub(crate) const THINKING_COUNT: usize = counts().1;

const fn counts() -> (usize, usize) {
    let (mut tools, mut thinking) = (0, 0);
    let mut groups = GROUPS.as_slice();
    while let [first, rest @ ..] = groups {
        let mut group = *first;
        while let [family, others @ ..] = group {
            if family.tools.is_some() {
                tools += 1;
            }
            if family.thinking.is_some() {
                thinking += 1;
            }
            group = others;
        }
        groups = rest;
    }
    (tools, thinking)
}

/// Returns every family.
pub(crate) fn all() -> impl Iterator<Item = &'static ModelFamily> {
    GROUPS.into_iter().flatten()
}

/// Returns the description of tool-call dialect number `at`.
pub(crate) fn tools(at: usize) -> Option<ToolDialectBuilder<'static>> {
    all().filter_map(|family| family.tools).nth(at)
}

/// Returns the description of thinking dialect number `at`.
pub(crate) fn thinking(at: usize) -> Option<ThinkingDialectBuilder<'static>> {
    all().filter_map(|family| family.thinking).nth(at)
}

/// Returns the family whose tool-call dialect has this name.
pub(crate) fn by_tools(name: &str) -> Option<&'static ModelFamily> {
    all().find(|family| family.tools.is_some_and(|tools| tools.name == name))
}

/// Returns the parts of calls that `auto` reads: dialects with markers of their own.
pub(crate) fn auto_tools() -> Vec<ToolDialectBuilder<'static>> {
    let in_auto = |family: &ModelFamily| match family.in_auto {
        InAuto::Whole => family.tools,
        InAuto::As(tools) => Some(tools),
        InAuto::Nothing => None,
    };
    all().filter_map(in_auto).map(ToolDialectBuilder::beside_others).collect()
}

/// Returns the special tokens with which models of tool-call dialect number `at` end a turn.
pub(crate) fn turn_ends(at: usize) -> &'static [&'static str] {
    all().filter(|family| family.tools.is_some()).nth(at).map_or(&[], |family| family.turn_ends)
}

/// Returns the special tokens of tool-call dialect number `at` that its description does not name.
pub(crate) fn strays(at: usize) -> &'static [&'static str] {
    all().filter(|family| family.tools.is_some()).nth(at).map_or(&[], |family| family.strays)
}

/// Returns the end-of-turn tokens of all families that do not occur in prose.
pub(crate) fn auto_turn_ends() -> Vec<&'static str> {
    const OTHERS: [&str; 4] = ["<turn|>", "<eos>", "<end_of_turn>", "[e~["];
    let is_special = |end: &str| end.starts_with("<|") || end.starts_with("<｜");
    let ends = all().flat_map(|family| family.turn_ends).copied();
    ends.filter(|end| is_special(end) || OTHERS.contains(end)).collect()
}

/// Returns the parts of reasoning that `auto` reads: its own tags, then the sections of families.
pub(crate) fn auto_thinking() -> Vec<ThinkingDialectBuilder<'static>> {
    let families = all().filter(|family| family.thinking_in_auto);
    let sections = families.filter_map(|family| family.thinking);
    thinking(1).into_iter().chain(sections.map(ThinkingDialectBuilder::beside_others)).collect()
}
