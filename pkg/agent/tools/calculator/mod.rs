//! A calculator as a tool.

mod expression;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolError, ToolOutput, unit_tool::unit_tool};

/// A tool that evaluates arithmetic: `+ - * / % ^`, parentheses, decimals.
///
/// Numbers are 64-bit floats; an integral result is written as an integer.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), forgeline::agent::tools::ToolError> {
/// use forgeline::agent::tools::{Calculator, Tool as _, ToolContext};
/// use serde_json::json;
///
/// let arguments = json!({ "expression": "(1 + 2.5) * 2" }).into();
/// assert_eq!(Calculator.execute(ToolContext::default(), arguments).await?.content, "7");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Calculator;

#[derive(Deserialize, JsonSchema)]
struct CalculatorArguments {
    /// The expression, such as `(1 + 2.5) * 3 ^ 2`.
    expression: String,
}

unit_tool!(
    Calculator,
    "calculator",
    "Evaluates an arithmetic expression with + - * / % ^ and parentheses.",
    false,
    |it: CalculatorArguments| match expression::evaluate(&it.expression) {
        Ok(value) => Ok(ToolOutput::new(value.to_string())),
        Err(error) => Err(ToolError::invalid("expression", error.to_string())),
    }
);
