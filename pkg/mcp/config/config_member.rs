//! A member of the configuration during parsing.

use forgeline_llm::http::Secret;
use serde_json::{Map, Value};

use super::{config_error::McpConfigError, expand::expand};

/// A member of the file, with its path.
pub(crate) struct ConfigMember<'a> {
    pub(crate) path: String,
    pub(crate) value: &'a Value,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> ConfigMember<'a> {
    pub(crate) fn below(&self, name: &str, value: &'a Value) -> Self {
        Self { path: format!("{}.{name}", self.path), value, variable: self.variable }
    }

    pub(crate) fn wrong(&self, problem: impl Into<String>) -> McpConfigError {
        wrong(self.path.clone(), problem)
    }

    /// Returns the error for a value of another kind, without the value, which may be a secret.
    pub(crate) fn expected(&self, expected: &str) -> McpConfigError {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.wrong(format!("is {kind}; expected {expected}"))
    }

    pub(crate) fn object(&self) -> Result<&'a Map<String, Value>, McpConfigError> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    pub(crate) fn boolean(&self) -> Result<bool, McpConfigError> {
        self.value.as_bool().ok_or_else(|| self.expected("`true` or `false`"))
    }

    /// Returns a string with its variables expanded.
    pub(crate) fn string(&self) -> Result<String, McpConfigError> {
        let text = self.value.as_str().ok_or_else(|| self.expected("a string"))?;
        if text.contains('\0') {
            return Err(self.wrong("has a NUL character; remove it"));
        }
        expand(text, self.variable).map_err(|problem| self.wrong(problem))
    }

    pub(crate) fn strings(&self) -> Result<Vec<String>, McpConfigError> {
        let items = self.value.as_array().ok_or_else(|| self.expected("an array of strings"))?;
        let item = |(at, value)| {
            let path = format!("{}[{at}]", self.path);
            ConfigMember { path, value, variable: self.variable }.string()
        };
        items.iter().enumerate().map(item).collect()
    }

    pub(crate) fn variables(&self) -> Result<Vec<(String, Secret)>, McpConfigError> {
        let variable = |(name, value): (&String, &'a Value)| {
            let member = self.below(name, value);
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(member.wrong("is not a name of a variable; expected one without `=`"));
            }
            Ok((name.clone(), Secret::from(member.string()?)))
        };
        self.object()?.iter().map(variable).collect()
    }
}

/// Returns the error for a member.
pub(crate) fn wrong(member: impl Into<String>, problem: impl Into<String>) -> McpConfigError {
    McpConfigError { member: member.into(), problem: problem.into() }
}
