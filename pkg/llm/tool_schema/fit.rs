//! One schema: unchanged, rewritten, or set aside.

use serde_json::Value;

use super::{ToolSchemaRules, UnfitSchema, top};

/// A schema that a provider takes.
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
    /// The schema goes as it is.
    Unchanged,
    /// The schema goes in other words.
    Rewritten {
        /// The schema that goes.
        schema: Value,
        /// The keywords that could not be said, each once; empty when the meaning is the same. What
        /// the schema allowed is still allowed, and what they forbade now is, too: check the arguments
        /// against the original.
        left_out: Vec<String>,
    },
}

impl ToolSchemaRules {
    /// Brings the schema of a tool's arguments into what the provider takes.
    ///
    /// # Errors
    ///
    /// [`UnfitSchema`] when that cannot be done: the tool is set aside, and the others go.
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
