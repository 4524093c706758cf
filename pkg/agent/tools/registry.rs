//! The tools of an agent.

use std::{collections::HashMap, fmt, mem, sync::Arc};

use serde_json::Value;

use super::{RegistryError, Tool, ToolError, check::ArgumentCheck, loop_breaking::PROTECTED_NAMES};
use forgeline_llm::ToolSpec;
use forgeline_types::Text;

/// The tools of an agent, in registration order.
///
/// A tool is found by its name, and by its name with each dot replaced by `_`: some providers do not accept dots, and models confuse the two.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use forgeline::agent::tools::{Calculator, ToolRegistry};
///
/// let mut tools = ToolRegistry::default();
/// tools.register(Arc::new(Calculator))?;
/// assert!(tools.get("calculator").is_some());
/// assert!(tools.register(Arc::new(Calculator)).is_err());
/// # Ok::<(), forgeline::agent::tools::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    /// The checks of the tools' arguments.
    checks: Vec<ArgumentCheck>,
    /// The descriptions of the tools for the model.
    specs: ToolSpecs,
    by_wire_name: HashMap<Text, usize>,
}

/// A tool and its description for the model.
pub(crate) struct RegisteredTool<'a> {
    pub(crate) tool: &'a Arc<dyn Tool>,
    pub(crate) spec: &'a ToolSpec,
    check: &'a ArgumentCheck,
}

impl RegisteredTool<'_> {
    /// Checks the arguments of a call.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        self.check.check(&self.spec.parameters, arguments)
    }
}

/// Descriptions of tools: a growing list, or one shared with requests.
#[derive(Clone)]
enum ToolSpecs {
    Growing(Vec<ToolSpec>),
    Shared(Arc<[ToolSpec]>),
}

impl Default for ToolSpecs {
    fn default() -> Self {
        Self::Growing(Vec::new())
    }
}

impl ToolSpecs {
    fn as_slice(&self) -> &[ToolSpec] {
        match self {
            Self::Growing(specs) => specs,
            Self::Shared(specs) => specs,
        }
    }

    fn push(&mut self, spec: ToolSpec) {
        let mut specs = match mem::take(self) {
            Self::Growing(specs) => specs,
            Self::Shared(specs) => specs.to_vec(),
        };
        specs.push(spec);
        *self = Self::Growing(specs);
    }
}

impl ToolRegistry {
    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is taken, reserved or invalid, a limit is zero, or the schema is malformed or does not describe an
    /// object.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let name = Text::from(tool.name());
        if PROTECTED_NAMES.contains(&name.as_str()) || name.starts_with('_') {
            return Err(RegistryError::Reserved { name });
        }
        self.register_protected(tool)
    }

    /// Adds one of the agent's own tools.
    pub(crate) fn register_protected(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let name = Text::from(tool.name());
        if !is_valid(&name) {
            return Err(RegistryError::InvalidName { name });
        }
        let is_zero = [
            ("timeout", tool.timeout().is_some_and(|limit| limit.is_zero())),
            ("max_result_chars", tool.max_result_chars() == Some(0)),
        ];
        if let Some((member, _)) = is_zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(RegistryError::ZeroLimit { name, member });
        }
        let schema = tool.schema();
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(RegistryError::InvalidSchema { name });
        }
        let wire_name = Text::from(name.replace('.', "_"));
        if self.by_wire_name.contains_key(&wire_name) {
            return Err(RegistryError::Duplicate { name });
        }
        self.checks.push(ArgumentCheck::new(&name, &schema)?);
        self.by_wire_name.insert(wire_name, self.tools.len());
        self.specs.push(ToolSpec::new(name, tool.description(), schema));
        self.tools.push(tool);
        Ok(())
    }

    /// Returns the tool with this name, written with dots or with `_`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.find(name).map(|entry| entry.tool)
    }

    pub(crate) fn find(&self, name: &str) -> Option<RegisteredTool<'_>> {
        let at = match self.by_wire_name.get(name) {
            Some(at) => *at,
            None => *self.by_wire_name.get(name.replace('.', "_").as_str())?,
        };
        let (tool, spec) = (self.tools.get(at)?, self.specs.as_slice().get(at)?);
        Some(RegisteredTool { tool, spec, check: self.checks.get(at)? })
    }

    /// Returns the tools, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = RegisteredTool<'_>> {
        let entries = self.tools.iter().zip(self.specs()).zip(&self.checks);
        entries.map(|((tool, spec), check)| RegisteredTool { tool, spec, check })
    }

    /// Returns the descriptions as requests hold them. The registry keeps the same list, since
    /// schemas are large.
    pub(crate) fn share_specs(&mut self) -> Arc<[ToolSpec]> {
        let specs = match mem::take(&mut self.specs) {
            ToolSpecs::Growing(specs) => Arc::from(specs),
            ToolSpecs::Shared(specs) => specs,
        };
        self.specs = ToolSpecs::Shared(Arc::clone(&specs));
        specs
    }

    /// Returns the descriptions, in order, as a list.
    pub(crate) fn spec_list(&self) -> &[ToolSpec] {
        self.specs.as_slice()
    }

    /// Returns the descriptions of the tools for the model, in order.
    pub fn specs(&self) -> impl ExactSizeIterator<Item = &ToolSpec> {
        self.specs.as_slice().iter()
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns `true` if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

/// Returns `true` for a name that providers accept, once its dots are replaced.
fn is_valid(name: &str) -> bool {
    name.len() <= 64
        && name.split('.').all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        })
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.specs().map(|spec| spec.name.as_str())).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tools::{TaskCompletionTool, ToolContext, tool_fn};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    fn tool(name: &'static str) -> Arc<dyn Tool> {
        Arc::new(tool_fn(name, "Does nothing.", |_: ToolContext, _: Nothing| async { "" }))
    }

    // Covers: CT-132, T-49
    #[test]
    fn a_limit_of_zero_is_refused_by_name_with_what_to_do() {
        let nothing = || tool_fn("slow", "Waits.", |_: ToolContext, _: Nothing| async { "" });
        let zero = [
            (Arc::new(nothing().timeout(Duration::ZERO)) as Arc<dyn Tool>, "timeout"),
            (Arc::new(nothing().max_result_chars(0)), "max_result_chars"),
        ];
        for (tool, member) in zero {
            let error = ToolRegistry::default().register(tool).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "`{member}` of tool `slow` is 0; make it larger, or omit it to use the agent's"
                )
            );
        }
        let least = nothing().timeout(Duration::from_nanos(1)).max_result_chars(1);
        ToolRegistry::default().register(Arc::new(least)).unwrap();
    }

    #[test]
    fn names_are_checked_and_found_in_both_forms() {
        let mut tools = ToolRegistry::default();
        tools.register(tool("files.read")).unwrap();
        tools.register(tool("b")).unwrap();
        tools.register(tool("a")).unwrap();
        assert_eq!(tools.get("files_read").unwrap().name(), "files.read");
        assert_eq!(tools.get("files.read").unwrap().name(), "files.read");
        assert!(tools.get("files").is_none());
        let names: Vec<_> = tools.specs().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["files.read", "b", "a"], "the order of registration");

        let refused = |name| tools.clone().register(tool(name)).unwrap_err();
        assert_eq!(refused("files_read"), RegistryError::Duplicate { name: "files_read".into() });
        assert_eq!(refused("converse"), RegistryError::Reserved { name: "converse".into() });
        assert_eq!(refused("_sdk.x"), RegistryError::Reserved { name: "_sdk.x".into() });
        for name in ["", "a b", "a.", ".a", "a..b", "é"] {
            assert_eq!(refused(name), RegistryError::InvalidName { name: name.into() });
        }
        tools.register_protected(Arc::new(TaskCompletionTool)).unwrap();

        let specs = tools.share_specs();
        assert!(Arc::ptr_eq(&specs, &tools.share_specs()));
        assert!(std::ptr::eq(tools.find("a").unwrap().spec, &raw const specs[2]));
        tools.register(tool("later")).unwrap();
        assert_eq!((specs.len(), tools.specs().len(), tools.len()), (4, 5, 5));
        assert_eq!(tools.find("later").unwrap().spec.name, "later");
    }
}
