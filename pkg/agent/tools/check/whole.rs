//! The check against the complete JSON Schema.

use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use super::complaint::complaint;
use crate::tools::{RegistryError, ToolError};

/// A compiled schema.
#[derive(Clone)]
pub(super) struct WholeSchema(Arc<Validator>);

impl WholeSchema {
    pub(super) fn new(name: &str, schema: &Value) -> Result<Self, RegistryError> {
        let malformed = |error: jsonschema::ValidationError<'_>| RegistryError::MalformedSchema {
            name: name.into(),
            member: format!("#{}", error.instance_path()).into(),
            problem: error.to_string(),
        };
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(schema).map_err(malformed)?;
        Ok(Self(Arc::new(validator)))
    }

    pub(super) fn allows(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    pub(super) fn check(&self, value: &Value) -> Result<(), ToolError> {
        self.0.validate(value).map_err(|error| complaint(&error, value))
    }
}
