//! The index of an agent's many tools: those offered from the start, and those to be found.

use std::{collections::BTreeMap, sync::Arc};

use super::config::ToolSearch;
use crate::{
    lexical::WordRanking,
    search::{indirect, words},
    tools::{RegisteredTool, TOOL_SEARCH, ToolRegistry},
};
use forgeline_json::slice;
use forgeline_llm::{TokenEstimator, ToolSpec};
use forgeline_types::Text;

/// Maximum bytes of a query that are examined.
const MAX_QUERY_BYTES: usize = 4 << 10;

/// The index of an agent's tools, where there are many. It is built once, and shared by all runs with the same tools.
#[derive(Debug)]
pub(crate) struct ToolIndex {
    all: Arc<[ToolSpec]>,
    /// The tools that are offered from the start.
    first: Arc<[ToolSpec]>,
    /// The tools that are offered from the start, and the tool through which the others are called.
    with_call: Arc<[ToolSpec]>,
    /// The indices in `all` of the other tools, in order.
    later: Vec<usize>,
    /// The indices of the other tools by name, also with dots written as `_`.
    by_name: BTreeMap<Text, usize>,
    ranking: WordRanking,
}

impl ToolIndex {
    /// Returns `true` when the tools exceed their share of the model's context window, and some need not be offered from the start.
    pub(crate) fn is_needed(tools: &ToolRegistry, search: &ToolSearch, window: u64) -> bool {
        let tokens = TokenEstimator::new().tools(tools.spec_list());
        search.is_over(tokens, window) && tools.iter().any(|entry| !is_first(&entry, search))
    }

    /// Returns the index of these tools, whose descriptions are `all`.
    pub(crate) fn new(tools: &ToolRegistry, all: Arc<[ToolSpec]>, search: &ToolSearch) -> Self {
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
        let texts: Vec<_> =
            later.iter().filter_map(|at| all.get(*at)).map(words::searched_words).collect();
        let ranking = WordRanking::new(texts.iter().map(String::as_str));
        let with_call = first.iter().cloned().chain([indirect::spec()]).collect();
        Self { first: first.into(), with_call, later, by_name, ranking, all }
    }

    /// Returns `true` when this is the index of these tools.
    pub(crate) fn is_of(&self, all: &Arc<[ToolSpec]>) -> bool {
        Arc::ptr_eq(&self.all, all) || self.all == *all
    }

    /// Returns the descriptions that are offered from the start.
    pub(crate) fn first(&self) -> &Arc<[ToolSpec]> {
        &self.first
    }

    /// Returns the descriptions that are offered from the start, where the others are called through a tool.
    pub(crate) fn with_call(&self) -> &Arc<[ToolSpec]> {
        &self.with_call
    }

    /// Returns the index of a tool to be found, by its name with dots or with `_`.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the description of the tool at this index.
    pub(crate) fn at(&self, place: usize) -> Option<&ToolSpec> {
        self.all.get(place)
    }

    /// Returns at most `most` of the tools that may be used and contain words of the query, the best first.
    pub(crate) fn find(
        &self,
        query: &str,
        most: usize,
        may_use: impl Fn(&ToolSpec) -> bool,
    ) -> Vec<&ToolSpec> {
        let query = slice(query, ..query.floor_char_boundary(MAX_QUERY_BYTES));
        let is_of_name = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
        // A query that contains a tool's name asks for that tool.
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

/// The tool named in the prompt of skills; see the feature `skills`.
const LOAD_SKILL: &str = "load_skill";

/// Returns `true` for a tool that is offered from the start.
fn is_first(entry: &RegisteredTool<'_>, search: &ToolSearch) -> bool {
    entry.tool.is_loop_breaking()
        || entry.spec.name == TOOL_SEARCH
        || entry.spec.name == LOAD_SKILL
        || search.always.contains(&entry.spec.name)
}
