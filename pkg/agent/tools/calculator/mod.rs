//! A calculator as a tool.

mod expression;

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Tool, ToolContext, ToolError, ToolOutput, typed::schema_of};
use crate::types::Json;

/// Works out arithmetic: `+ - * / % ^`, parentheses, decimals.
///
/// Numbers are 64-bit floats; a result that is a whole number is written as one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calculator;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The expression, such as `(1 + 2.5) * 3 ^ 2`.
    expression: String,
}

impl Tool for Calculator {
    fn name(&self) -> &'static str {
        "calculator"
    }

    fn description(&self) -> &'static str {
        "Works out an arithmetic expression with + - * / % ^ and parentheses."
    }

    fn schema(&self) -> Value {
        schema_of::<Arguments>()
    }

    fn execute(
        &self,
        _context: ToolContext,
        arguments: Json,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(calculate(&arguments)))
    }
}

fn calculate(arguments: &Json) -> Result<ToolOutput, ToolError> {
    let arguments: Arguments =
        arguments.read().map_err(|error| ToolError::invalid("", error.to_string()))?;
    match expression::evaluate(&arguments.expression) {
        Ok(value) => Ok(ToolOutput::new(value.to_string())),
        Err(error) => Err(ToolError::invalid("expression", error.to_string())),
    }
}
