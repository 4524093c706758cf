//! The check of a tool's arguments, prepared once when the tool is registered.

use serde_json::Value;

#[cfg(feature = "schema")]
use super::whole;
use crate::tools::{RegistryError, ToolError, validate};

/// The check of arguments against a schema: the complete JSON Schema with feature `schema`,
/// otherwise the parts that [`validate`] supports.
#[derive(Clone)]
pub(crate) struct ArgumentCheck {
    #[cfg(feature = "schema")]
    whole: whole::WholeSchema,
}

impl ArgumentCheck {
    /// Returns the check against the schema of the tool with this name.
    ///
    /// # Errors
    ///
    /// Returns [`RegistryError::MalformedSchema`] with the invalid member. Without feature `schema`, only the keywords on which the check
    /// of arguments depends are examined.
    pub(crate) fn new(name: &str, schema: &Value) -> Result<Self, RegistryError> {
        #[cfg(not(feature = "schema"))]
        if let Some(super::schema_form::SchemaFault { member, problem }) =
            super::schema_form::find_fault(schema)
        {
            let (name, member) = (name.into(), member.into());
            return Err(RegistryError::MalformedSchema { name, member, problem });
        }
        Ok(Self {
            #[cfg(feature = "schema")]
            whole: whole::WholeSchema::new(name, schema)?,
        })
    }

    /// Checks `arguments` against `schema`, from which the check was created.
    ///
    /// # Errors
    ///
    /// The same as for [`validate`].
    #[cfg_attr(
        not(feature = "schema"),
        expect(clippy::unused_self, reason = "the light check keeps nothing")
    )]
    pub(crate) fn check(&self, schema: &Value, arguments: &Value) -> Result<(), ToolError> {
        #[cfg(feature = "schema")]
        if self.whole.allows(arguments) {
            return Ok(());
        }
        // Problems that `validate` finds are reported in the same words as without the feature.
        validate(schema, arguments)?;
        #[cfg(feature = "schema")]
        self.whole.check(arguments)?;
        Ok(())
    }
}
