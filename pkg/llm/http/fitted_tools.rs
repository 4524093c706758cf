//! Adaptation of a request's tools to what a provider accepts.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::tool_names::{self, WireNames};
use crate::{FittedSchema, SchemaRules, ToolSchemaRules, ToolSpec};
use forgeline_types::Text;

/// Maximum number of tool lists whose adapted form a provider keeps.
const MAX_LISTS: usize = 4;

/// A list of tools in the form that a provider accepts.
#[derive(Debug, Clone)]
pub(crate) struct FittedTools {
    /// The tools to send; the list itself if no tool has changed.
    pub(crate) tools: Arc<[ToolSpec]>,
    /// Notes on the differences from the request, each in a few words.
    pub(crate) told: Arc<[Text]>,
    /// The names of the tools to send, by their names on the wire.
    pub(crate) names: Arc<WireNames>,
}

/// The tool lists that a provider has seen most recently.
///
/// A conversation has one list, so each schema is adapted once.
#[derive(Debug, Default)]
pub(crate) struct FittedLists(Mutex<Vec<(Arc<[ToolSpec]>, FittedTools)>>);

impl FittedLists {
    /// Returns `tools` in the form that these rules accept.
    pub(crate) fn fit(
        &self,
        tools: &Arc<[ToolSpec]>,
        rules: &ToolSchemaRules,
        enforced: SchemaRules,
        provider: &str,
    ) -> FittedTools {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Arc<[ToolSpec]>| Arc::ptr_eq(known, tools) || known == tools;
        if let Some((_, fitted)) = lists.iter().find(|(known, _)| is_it(known)) {
            return fitted.clone();
        }
        let fitted = fit(tools, rules, enforced, provider);
        if lists.len() >= MAX_LISTS {
            lists.remove(0);
        }
        lists.push((Arc::clone(tools), fitted.clone()));
        fitted
    }
}

fn fit(
    tools: &Arc<[ToolSpec]>,
    rules: &ToolSchemaRules,
    enforced: SchemaRules,
    provider: &str,
) -> FittedTools {
    let mut fit = FittedList { rules, enforced, provider, strict: 0, told: Vec::new() };
    let (mut fitted, mut names, mut taken) = (Vec::new(), WireNames::default(), HashSet::new());
    for tool in tools.iter() {
        let wire = tool_names::encode(&tool.name);
        if !taken.insert(wire.clone()) {
            fit.set_aside(
                tool,
                &format!("its name is sent as `{wire}`, like that of another tool; rename it"),
            );
        } else if let Some(tool) = fit.tool(tool.clone()) {
            names.add(wire, &tool.name);
            fitted.push(tool);
        }
    }
    let is_same = fitted.len() == tools.len() && fitted.as_slice() == &**tools;
    let tools = if is_same { Arc::clone(tools) } else { Arc::from(fitted) };
    FittedTools { tools, told: Arc::from(fit.told), names: Arc::new(names) }
}

/// The adaptation of one list.
struct FittedList<'r> {
    rules: &'r ToolSchemaRules,
    enforced: SchemaRules,
    provider: &'r str,
    /// The number of strict tools.
    strict: usize,
    told: Vec<Text>,
}

impl FittedList<'_> {
    /// Returns the adapted tool; `None` if the tool is left out.
    fn tool(&mut self, mut tool: ToolSpec) -> Option<ToolSpec> {
        if tool.strict {
            let Some(problem) = self.not_enforced(&tool) else {
                self.strict += 1;
                return Some(tool);
            };
            let (name, provider) = (&tool.name, self.provider);
            tracing::warn!(tool = %name, provider, problem, "the arguments are not enforced");
            self.told.push(Text::from(format!("strict mode of `{name}`: {problem}")));
            tool.strict = false;
        }
        match self.rules.fit(&tool.parameters) {
            Ok(FittedSchema::Unchanged) => Some(tool),
            Ok(FittedSchema::Rewritten { schema, left_out }) => {
                let provider = self.provider;
                tracing::debug!(tool = %tool.name, provider, ?left_out, "the schema is rewritten");
                tool.parameters = schema.into();
                Some(tool)
            }
            Err(problem) => {
                self.set_aside(&tool, &format!("its schema {problem}"));
                None
            }
        }
    }

    /// Returns the reason why the arguments of a strict tool cannot be enforced, if there is one.
    fn not_enforced(&self, tool: &ToolSpec) -> Option<String> {
        let most = self.enforced.max_strict_tools;
        if let Some(most) = most.filter(|most| self.strict >= *most) {
            return Some(format!("at most {most} tools may be strict"));
        }
        self.enforced.check(&tool.parameters).err().map(|error| error.to_string())
    }

    fn set_aside(&mut self, tool: &ToolSpec, problem: &str) {
        let (name, provider) = (&tool.name, self.provider);
        tracing::warn!(tool = %name, provider, problem, "the tool is set aside");
        self.told.push(Text::from(format!("the tool `{name}`: {problem}")));
    }
}
