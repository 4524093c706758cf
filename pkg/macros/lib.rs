//! The attribute `tool`: a tool of an agent from an async function.
//!
//! Programs use it as `forgeline::tool`, with the feature `runtime`. The generated code names everything by
//! `::forgeline`, also the crates that derive the schema: a program needs no dependency on them.

mod arguments;
mod expand;
mod options;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a tool of an async function, which the model calls.
///
/// The name of the function is that of the tool, its doc comment the description, and the arguments with their doc
/// comments are the schema. An argument of type `Option` may be left out. The function becomes one that returns the
/// tool: `.tool(find_order(orders))`.
///
/// Two kinds of arguments are not the model's. They are recognized by the names of their types:
///
/// * `State<T>`, a value such as the handle of a database: the function that returns the tool takes a `T`, and each
///   call gets a clone. A tool has at most one.
/// * `ToolContext`, the context of the call. A tool has at most one.
///
/// The function returns what [`tool_fn`] accepts. Attributes of arguments for `serde` and `schemars` apply, as in
/// `#[serde(default)]`.
///
/// # Options
///
/// `name = "…"` sets another name. The others set what the methods of [`TypedTool`] with the same names set: `effects`,
/// `origin`, `module`, `permission`, `timeout` and `max_result_chars` with a value; `loop_breaking`, `idempotent`,
/// `may_repeat` and `alone` without one.
///
/// # Errors
///
/// The compiler refuses a function without a doc comment, one that is not async or has generics or `self`, an argument
/// that is a reference or a pattern, and an option that is not known.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{collections::HashMap, sync::Arc};
///
/// use forgeline::agent::tools::{State, Tool as _, ToolContext, ToolEffects, ToolError};
///
/// type Orders = Arc<HashMap<u32, &'static str>>;
///
/// /// Tells where an order is.
/// #[forgeline::tool(effects = ToolEffects::Reads)]
/// async fn find_order(
///     /// The number of the order.
///     number: u32,
///     State(orders): State<Orders>,
/// ) -> Result<String, ToolError> {
///     let place = orders.get(&number).ok_or_else(|| ToolError::failed("there is no such order"))?;
///     Ok(format!("It is in {place}."))
/// }
///
/// let tool = find_order(Arc::new([(17, "Ulm")].into()));
/// assert_eq!((tool.name(), tool.description()), ("find_order", "Tells where an order is."));
/// assert_eq!(tool.schema()["properties"]["number"]["description"], "The number of the order.");
/// let arguments = serde_json::json!({ "number": 17 }).into();
/// assert_eq!(tool.execute(ToolContext::default(), arguments).await?.content, "It is in Ulm.");
/// # Ok(())
/// # }
/// ```
///
/// A model chooses by the description, so a tool without one does not compile:
///
/// ```compile_fail
/// #[forgeline::tool]
/// async fn find_order(number: u32) -> String {
///     format!("{number} is on its way.")
/// }
/// ```
///
/// Nor does one whose argument cannot be read from JSON:
///
/// ```compile_fail
/// /// Waits.
/// #[forgeline::tool]
/// async fn wait(until: std::time::Instant) {}
/// ```
///
/// [`tool_fn`]: https://docs.rs/forgeline/latest/forgeline/agent/tools/fn.tool_fn.html
/// [`TypedTool`]: https://docs.rs/forgeline/latest/forgeline/agent/tools/struct.TypedTool.html
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = expand::tool(options.into(), item.into());
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
