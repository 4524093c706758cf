//! Digests of the parts at the beginning of requests: a provider may cache the beginning as long as it does not change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::support::digest;
use forgeline_json::slice;
use forgeline_llm::{Request, ToolSpec};

/// The number of bytes between two parts of a system prompt.
const BETWEEN: usize = "\n\n".len();

/// A part of the beginning of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrefixPart {
    /// The descriptions of the tools, with native calls.
    Tools,
    /// The part of the system prompt with this index, from 0, among the parts that the agent was built with.
    Prompt(usize),
    /// The system prompt of the agent's [template](crate::AgentBuilder::request).
    Template,
    /// The section of the system prompt that describes the tools, with calls in text.
    ToolSection,
    /// The whole system prompt of a resumed run, whose parts are not known any more.
    System,
}

/// The first change in the beginning of requests, from one request of a conversation to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PrefixChange {
    /// The part that was changed, added or removed.
    pub part: PrefixPart,
    /// The number of bytes of the system prompt before that part or, for [`PrefixPart::Tools`], the
    /// number of unchanged tools before it. Everything before the offset is unchanged.
    pub offset: usize,
}

/// The beginning of a request, as digests without text.
#[derive(Debug, Default)]
pub(crate) struct RequestPrefix {
    /// The agent's list itself, not a copy.
    tools: Arc<[ToolSpec]>,
    parts: Vec<PartDigest>,
    /// The digest of the whole system prompt.
    system: u64,
}

/// A part of a system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartDigest {
    part: PrefixPart,
    bytes: usize,
    digest: u64,
}

/// The indices and lengths of the parts of a system prompt, in order; `None` where they are not known.
pub(crate) type PartPlaces = Option<Box<[(usize, usize)]>>;

impl RequestPrefix {
    /// Returns the beginning of a request whose parts have these indices and lengths;
    /// `template_bytes` is the length of the template's system prompt.
    pub(crate) fn of_request(
        request: &Request,
        places: &PartPlaces,
        template_bytes: usize,
    ) -> Self {
        let text = request.system.as_deref().unwrap_or_default();
        let system = digest(text.as_bytes());
        let (tools, mut parts, mut from) = (Arc::clone(&request.tools), Vec::new(), 0_usize);
        let mut add = |part, bytes: usize| {
            let end = from.saturating_add(bytes).min(text.len());
            if end > from {
                let digest = digest(slice(text, from..end).as_bytes());
                parts.push(PartDigest { part, bytes: end - from, digest });
                from = (end + BETWEEN).min(text.len());
            }
        };
        match places {
            Some(places) => {
                places.iter().for_each(|(place, bytes)| add(PrefixPart::Prompt(*place), *bytes));
                add(PrefixPart::Template, template_bytes);
                add(PrefixPart::ToolSection, usize::MAX);
            }
            None => add(PrefixPart::System, usize::MAX),
        }
        Self { tools, parts, system }
    }

    /// Returns the first change in the beginning of the next request; `defers` is `true` where the provider describes found tools at the
    /// point where they were found. Elsewhere, a tool added after the others changes what follows it.
    pub(crate) fn change(&self, next: &Self, defers: bool) -> Option<PrefixChange> {
        if !Arc::ptr_eq(&self.tools, &next.tools) {
            let same = self.tools.iter().zip(&*next.tools).take_while(|(one, other)| one == other);
            let offset = same.count();
            let is_elsewhere = |spec: &ToolSpec| defers && spec.deferred;
            if offset < self.tools.len() || !next.tools.iter().skip(offset).all(is_elsewhere) {
                return Some(PrefixChange { part: PrefixPart::Tools, offset });
            }
        }
        if self.system == next.system {
            return None;
        }
        let pairs = self.parts.iter().zip(&next.parts);
        let same = pairs.take_while(|(one, other)| one == other).count();
        let before = self.parts.iter().take(same).map(|part| part.bytes + BETWEEN).sum();
        let part = next.parts.get(same).or_else(|| self.parts.get(same));
        part.map(|part| PrefixChange { part: part.part, offset: before })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The parts of a prompt, the tools, and the change to them.
    type Row<'r> = (&'r [&'r str], &'r [&'r str], Option<(PrefixPart, usize)>);

    fn prefix(texts: &[&str], tools: &[&str]) -> RequestPrefix {
        let spec = |name: &&str| ToolSpec::new(*name, "", json!({ "type": "object" }));
        let tools: Vec<_> = tools.iter().map(spec).collect();
        let request = Request::prompt("Hi").system(texts.join("\n\n")).tools(tools);
        let places = texts.iter().enumerate().map(|(at, text)| (at, text.len())).collect();
        RequestPrefix::of_request(&request, &Some(places), 0)
    }

    #[test]
    fn the_first_change_is_found_with_what_comes_before_it() {
        use PrefixPart::{Prompt, Tools};
        let before = prefix(&["You help.", "Lisbon.", "It is 9."], &["a", "b"]);
        #[rustfmt::skip]
        let rows: [Row<'_>; 9] = [
            (&["You help.", "Lisbon.", "It is 9."], &["a", "b"],      None),
            (&["You help.", "Lisbon.", "It is 9."], &["a", "b", "c"], Some((Tools, 2))),
            (&["You help.", "Lisbon.", "It is 9."], &["a", "c"],      Some((Tools, 1))),
            (&["You help.", "Lisbon.", "It is 9."], &["a"],           Some((Tools, 1))),
            (&["You help.", "Lisbon.", "It is 10."], &["a", "b"],     Some((Prompt(2), 20))),
            (&["You help!", "Lisbon.", "It is 10."], &["a", "b"],     Some((Prompt(0), 0))),
            (&["You help.", "Porto..", "It is 9."], &["a", "b"],      Some((Prompt(1), 11))),
            (&["You help.", "Lisbon."], &["a", "b"],                  Some((Prompt(2), 20))),
            (&["You help.", "Lisbon.", "It is 9.", "x"], &["a", "b"], Some((Prompt(3), 30))),
        ];
        for (texts, tools, want) in rows {
            let change = before.change(&prefix(texts, tools), false);
            assert_eq!(change.map(|it| (it.part, it.offset)), want, "{texts:?} {tools:?}");
        }
    }

    #[test]
    fn a_tool_behind_the_others_changes_nothing_only_where_it_is_described_elsewhere() {
        let before = prefix(&["You help."], &["a"]);
        let with = |deferred| {
            let mut next = prefix(&["You help."], &["a", "b"]);
            let mark = |spec: &ToolSpec| spec.clone().deferred(deferred && spec.name == "b");
            next.tools = next.tools.iter().map(mark).collect();
            next
        };
        let told = Some(PrefixChange { part: PrefixPart::Tools, offset: 1 });
        for (deferred, defers, want) in
            [(true, true, None), (true, false, told), (false, true, told), (false, false, told)]
        {
            assert_eq!(before.change(&with(deferred), defers), want, "{deferred} {defers}");
        }
    }

    #[test]
    fn template_and_tools_in_text_are_parts_and_a_resumed_run_has_one() {
        let of = |text: &str, places: PartPlaces| {
            RequestPrefix::of_request(
                &Request::prompt("Hi").system(text),
                &places,
                "Template.".len(),
            )
        };
        let places = || Some([(1, 3)].into());
        let before = of("One\n\nTemplate.\n\n# Tools", places());
        let change =
            |text, places| before.change(&of(text, places), false).map(|it| (it.part, it.offset));
        assert_eq!(change("One\n\nTemplate.\n\n# Tools", None), None);
        assert_eq!(
            change("One\n\nTemplate.\n\n# Tool!", places()),
            Some((PrefixPart::ToolSection, 16))
        );
        assert_eq!(
            change("One\n\nTemplat2.\n\n# Tools", places()),
            Some((PrefixPart::Template, 5))
        );
        assert_eq!(change("Two\n\nTemplate.\n\n# Tools", None), Some((PrefixPart::System, 0)));
    }
}
