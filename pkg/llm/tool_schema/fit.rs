//! Adaptation of one schema, which is unchanged, rewritten, or rejected.

use serde_json::Value;

use super::{ToolSchemaRules, UnfitSchema, top};

/// A schema that a provider accepts.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{FittedSchema, ToolSchemaRules};
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
/// assert_eq!(ToolSchemaRules::GEMINI.fit(&schema)?, FittedSchema::Unchanged);
/// # Ok::<(), forgeline::llm::UnfitSchema>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FittedSchema {
    /// The schema is sent as it is.
    Unchanged,
    /// The schema is rewritten.
    #[non_exhaustive]
    Rewritten {
        /// The schema that is sent.
        schema: Value,
        /// The keywords that could not be expressed, each once; empty if the meaning is the same. Everything that
        /// the schema allowed is still allowed, but so are values that these keywords forbade: check the arguments
        /// against the original.
        left_out: Vec<String>,
    },
}

impl ToolSchemaRules {
    /// Adapts the schema of a tool's arguments to what the provider accepts.
    ///
    /// # Errors
    ///
    /// [`UnfitSchema`] if that is impossible: the tool must be left out, and the others can be sent.
    pub fn fit(&self, schema: &Value) -> Result<FittedSchema, UnfitSchema> {
        if *self == Self::ANY {
            return Ok(FittedSchema::Unchanged);
        }
        let (fitted, left_out) = top::rewrite(self, schema)?;
        if fitted == *schema {
            return Ok(FittedSchema::Unchanged);
        }
        Ok(FittedSchema::Rewritten { schema: fitted, left_out })
    }
}
