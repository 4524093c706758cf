//! Tools of requests, and functions as Chat Completions and Responses write them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    RequestProblem,
    members::{flag, items, required_text, text},
};
use crate::ToolSpec;
use forgeline_types::Json;

/// Reads the tools of a request; `read` gets each with its place.
pub(crate) fn tools(
    members: &mut Map<String, Value>,
    mut read: impl FnMut(Value, &str) -> Result<ToolSpec, RequestProblem>,
) -> Result<Arc<[ToolSpec]>, RequestProblem> {
    let tools = items(members.remove("tools"), "tools")?.into_iter().enumerate();
    tools.map(|(at, tool)| read(tool, &format!("tools[{at}]"))).collect()
}

/// Reads the description of a function; other members are added to `left_out`.
pub(crate) fn function_tool(
    mut function: Map<String, Value>,
    place: &str,
    left_out: &mut Vec<String>,
) -> Result<ToolSpec, RequestProblem> {
    let within = |error: RequestProblem| error.in_place(place);
    let name = required_text(&mut function, "name").map_err(within)?;
    let description = text(&mut function, "description").map_err(within)?;
    let takes_nothing = || json!({ "type": "object", "properties": {} });
    let parameters = function.remove("parameters").filter(|schema| !schema.is_null());
    let strict = flag(&mut function, "strict").map_err(within)?.unwrap_or_default();
    left_out.extend(function.keys().map(|name| format!("{place}.{name}")));
    let parameters = parameters.unwrap_or_else(takes_nothing);
    Ok(ToolSpec::new(name, description.unwrap_or_default(), parameters).strict(strict))
}

/// Reads the arguments of a call, which are JSON in a text; a blank text has none.
pub(crate) fn arguments(
    function: &mut Map<String, Value>,
    place: &str,
) -> Result<Json, RequestProblem> {
    let written = text(function, "arguments").map_err(|it| it.in_place(place))?.unwrap_or_default();
    let written = if written.trim().is_empty() { "{}" } else { &*written };
    Json::parse(written).map_err(|error| {
        RequestProblem::new(format!("{place}.arguments"), format!("is not JSON: {error}"))
    })
}

/// Checks that a call or tool is a function.
pub(crate) fn only_function(value: &Value, place: &str) -> Result<(), RequestProblem> {
    match value.get("type") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(kind)) if kind == "function" => Ok(()),
        Some(kind) => {
            let problem = format!("expected `function`, found {kind}");
            Err(RequestProblem::new(format!("{place}.type"), problem))
        }
    }
}
