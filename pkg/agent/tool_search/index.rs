//! The tools of an agent that has many: those that are offered from the start, and those that are found.

use std::{collections::BTreeMap, sync::Arc};

use super::{ToolSearch, indirect, words};
use crate::{
    agent::{
        lexical::Ranking,
        tools::{Registered, TOOL_SEARCH, ToolRegistry},
    },
    llm::{TokenEstimator, ToolSpec},
    types::{Text, slice},
};

/// Most bytes of a query that are looked at.
const MAX_QUERY_BYTES: usize = 4 << 10;

/// The index of an agent's tools, where there are many. It is made once, and shared by all runs that have the same ones.
#[derive(Debug)]
pub(in crate::agent) struct ToolIndex {
    all: Arc<[ToolSpec]>,
    /// The tools that are offered from the start.
    first: Arc<[ToolSpec]>,
    /// The same, and the tool through which the others are called.
    with_call: Arc<[ToolSpec]>,
    /// The places of the others among all, in their order.
    later: Vec<usize>,
    /// Their places by name, with dots written as `_` too.
    by_name: BTreeMap<Text, usize>,
    ranking: Ranking,
}

impl ToolIndex {
    /// Returns `true` when the tools take more of the model's window than they may, and some can be left for later.
    pub(in crate::agent) fn is_needed(
        tools: &ToolRegistry,
        search: &ToolSearch,
        window: u64,
    ) -> bool {
        let tokens = TokenEstimator::new().tools(tools.spec_list());
        search.is_over(tokens, window) && tools.iter().any(|entry| !is_first(&entry, search))
    }

    /// Returns the index of these tools, whose descriptions are `all`.
    pub(in crate::agent) fn new(
        tools: &ToolRegistry,
        all: Arc<[ToolSpec]>,
        search: &ToolSearch,
    ) -> Self {
        let (mut first, mut later, mut by_name) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (place, entry) in tools.iter().enumerate() {
            if is_first(&entry, search) {
                first.push(entry.spec.clone().searches(entry.spec.name == TOOL_SEARCH));
            } else {
                later.push(place);
                let wire_name = Text::from(entry.spec.name.replace('.', "_"));
                by_name.extend([(entry.spec.name.clone(), place), (wire_name, place)]);
            }
        }
        let texts: Vec<_> = later.iter().filter_map(|at| all.get(*at)).map(words::of).collect();
        let ranking = Ranking::new(texts.iter().map(String::as_str));
        let with_call = first.iter().cloned().chain([indirect::spec()]).collect();
        Self { first: first.into(), with_call, later, by_name, ranking, all }
    }

    /// Returns `true` when it is that of these tools.
    pub(in crate::agent) fn is_of(&self, all: &Arc<[ToolSpec]>) -> bool {
        Arc::ptr_eq(&self.all, all) || self.all == *all
    }

    /// Returns the descriptions that are offered from the start.
    pub(in crate::agent) fn first(&self) -> &Arc<[ToolSpec]> {
        &self.first
    }

    /// Returns the descriptions that are offered from the start where the others are called through a tool.
    pub(in crate::agent) fn with_call(&self) -> &Arc<[ToolSpec]> {
        &self.with_call
    }

    /// Returns the place of a tool that is found, by its name with dots or with `_`.
    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the description of a tool at a place.
    pub(super) fn at(&self, place: usize) -> Option<&ToolSpec> {
        self.all.get(place)
    }

    /// Returns at most `most` of the tools that may be used and have words of the query, the best first.
    pub(in crate::agent) fn find(
        &self,
        query: &str,
        most: usize,
        may_use: impl Fn(&ToolSpec) -> bool,
    ) -> Vec<&ToolSpec> {
        let query = slice(query, ..query.floor_char_boundary(MAX_QUERY_BYTES));
        let is_of_name = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
        // Whoever writes a name wants that tool.
        let words = query.split(|letter| !is_of_name(letter));
        let named = words.filter_map(|word| self.place_of(word.trim_matches('.')));
        let ranked = self.ranking.find(query, usize::MAX);
        let ranked = ranked.into_iter().filter_map(|(at, _)| self.later.get(at).copied());
        let mut places: Vec<usize> = Vec::new();
        for place in named.chain(ranked) {
            if places.len() == most {
                break;
            }
            if !places.contains(&place) && self.at(place).is_some_and(&may_use) {
                places.push(place);
            }
        }
        places.into_iter().filter_map(|place| self.at(place)).collect()
    }
}

/// The tool that the prompt of skills names; see the feature `skills`.
const LOAD_SKILL: &str = "load_skill";

/// Returns `true` for a tool that is offered from the start.
fn is_first(entry: &Registered<'_>, search: &ToolSearch) -> bool {
    entry.tool.is_loop_breaking()
        || entry.spec.name == TOOL_SEARCH
        || entry.spec.name == LOAD_SKILL
        || search.always.contains(&entry.spec.name)
}
