//! Reading of Responses requests, for a server whose clients speak that protocol.

mod items;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use self::items::ItemReader;
use super::response_writer::ResponseWriter;
use crate::{
    Request, ResponseFormat, Thinking, ToolChoice,
    decode::lax_json::list,
    gateway::{
        ClientRequest, RequestProblem, client_protocol, flag, function_tool, leave_out, number,
        object, only_function, option, required_text, root, text, tools,
    },
};
use forgeline_types::{Text, Transcript};

/// Reads the body of a Responses request.
///
/// `instructions` become [`Request::system`]; adjacent items of the model are one message, and results of tools get the names of their
/// calls. Reasoning and the items of the vendor's own tools stay as they are. Tools other than functions and files by id are errors,
/// and so are members that refer to what a server keeps: `previous_response_id`, `conversation`, `prompt`, `background` and items of type
/// `item_reference`; see [`read_stored_request`]. Other members are kept in [`Request::extra`] or named in
/// [`left_out`](ClientRequest::left_out). The caller bounds the length of the body.
///
/// # Errors
///
/// Returns the first place that is not as the protocol has it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::responses::read_request;
///
/// let body = r#"{"model":"small","instructions":"Be brief.","input":"Hi","reasoning":{"effort":"low"}}"#;
/// let received = read_request(body.as_bytes())?;
/// assert_eq!(received.request.system.as_deref(), Some("Be brief."));
/// assert_eq!(received.request.reasoning_effort.as_deref(), Some("low"));
///
/// let error = read_request(br#"{"model":"small","input":"Hi","previous_response_id":"resp_1"}"#);
/// assert_eq!(error.unwrap_err().place, "previous_response_id");
/// # Ok::<(), forgeline::llm::gateway::RequestProblem>(())
/// ```
pub fn read_request(body: &[u8]) -> Result<ClientRequest, RequestProblem> {
    read(body, |id| {
        let problem = format!("no responses are stored here; send the whole input, found {id:?}");
        Err(RequestProblem::new("previous_response_id", problem))
    })
}

/// Reads the body of a Responses request, as [`read_request`] does, for a server that stores its responses.
///
/// `stored` returns the conversation up to and including the response with this id, whose instructions do not count, or `None` if there
/// is none.
///
/// # Errors
///
/// Returns the first place that is not as the protocol has it, such as an id that `stored` does not know.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::responses::read_stored_request, types::Message};
///
/// let body = br#"{"model":"small","input":"And then?","previous_response_id":"resp_1"}"#;
/// let stored = |_: &str| Some(vec![Message::user("Hi"), Message::assistant("Hello.")].into());
/// assert_eq!(read_stored_request(body, stored)?.request.messages.len(), 3);
/// # Ok::<(), forgeline::llm::gateway::RequestProblem>(())
/// ```
pub fn read_stored_request(
    body: &[u8],
    stored: impl FnOnce(&str) -> Option<Transcript>,
) -> Result<ClientRequest, RequestProblem> {
    read(body, |id| {
        stored(id).ok_or_else(|| {
            RequestProblem::new("previous_response_id", format!("no response has the id {id:?}"))
        })
    })
}

fn read(
    body: &[u8],
    stored: impl FnOnce(&str) -> Result<Transcript, RequestProblem>,
) -> Result<ClientRequest, RequestProblem> {
    let (mut members, model) = root(body)?;
    let wire: WireBody<'_> = serde_json::from_slice(body)
        .map_err(|error| RequestProblem::new("input", format!("cannot be read: {error}")))?;
    let previous = text(&mut members, "previous_response_id")?;
    let messages = previous.map_or_else(|| Ok(Transcript::default()), |id| stored(&id))?;
    only_here(&mut members)?;
    let mut reader = ItemReader::new(&messages);
    reader.input(members.remove("input").unwrap_or_default(), &list(wire.input))?;
    let (read, mut left_out) = reader.finish();
    let mut request = Request::new(messages);
    request.messages.extend(read);
    request.system = text(&mut members, "instructions")?.map(Into::into);
    request.tools = tools(&mut members, |tool, place| {
        only_function(&tool, place)?;
        let mut tool = object(tool, place)?;
        tool.remove("type");
        function_tool(tool, place, &mut left_out)
    })?;
    request.tool_choice =
        members.remove("tool_choice").as_ref().map(tool_choice).transpose()?.flatten();
    request.parallel_tool_calls = flag(&mut members, "parallel_tool_calls")?;
    request.max_tokens = number(&mut members, "max_output_tokens")?;
    reasoning(&mut members, &mut request, &mut left_out)?;
    request.response_format = format(&mut members, &mut left_out)?;
    option(&mut members, "stream_options")?;
    ClientRequest::with_members(model, members, request, left_out)
}

client_protocol!(ResponseWriter);

/// The part of a body that is read as written: items of the vendor keep the spelling of their numbers.
#[derive(Deserialize)]
struct WireBody<'a> {
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// Checks that the answer depends on nothing that only the vendor keeps, and removes what asks to keep nothing.
fn only_here(members: &mut Map<String, Value>) -> Result<(), RequestProblem> {
    for name in ["conversation", "prompt"] {
        if members.remove(name).is_some_and(|value| !value.is_null()) {
            let problem = "nothing is stored here; send the whole input";
            return Err(RequestProblem::new(name, problem));
        }
    }
    if flag(members, "background")?.unwrap_or_default() {
        let problem = "responses in the background are not possible here; expected false";
        return Err(RequestProblem::new("background", problem));
    }
    // What a provider asks of its vendor by itself.
    if members.get("store") == Some(&Value::Bool(false)) {
        members.remove("store");
    }
    if members.get("include") == Some(&json!(["reasoning.encrypted_content"])) {
        members.remove("include");
    }
    Ok(())
}

fn tool_choice(choice: &Value) -> Result<Option<ToolChoice>, RequestProblem> {
    let at = |name: &str| choice.get(name).and_then(Value::as_str);
    Ok(Some(match (choice.as_str(), at("type"), at("name")) {
        (Some("auto"), ..) => ToolChoice::Auto,
        (Some("none"), ..) => ToolChoice::None,
        (Some("required"), ..) => ToolChoice::Required,
        (None, Some("function"), Some(name)) => ToolChoice::Tool(name.into()),
        _ if choice.is_null() => return Ok(None),
        _ => {
            let expected = "expected `auto`, `none`, `required` or a function";
            return Err(RequestProblem::new("tool_choice", format!("{expected}, found {choice}")));
        }
    }))
}

/// Reads the settings of reasoning. Clients that want a summary want reasoning.
fn reasoning(
    members: &mut Map<String, Value>,
    request: &mut Request,
    left_out: &mut Vec<String>,
) -> Result<(), RequestProblem> {
    let mut reasoning = option(members, "reasoning")?;
    let within = |error: RequestProblem| error.in_place("reasoning");
    let effort = text(&mut reasoning, "effort").map_err(within)?;
    let summary = text(&mut reasoning, "summary").map_err(within)?;
    let is_off = effort.as_deref() == Some("none");
    request.thinking = match summary {
        _ if is_off => Some(Thinking::Off),
        Some(_) => Some(Thinking::On),
        None => None,
    };
    request.reasoning_effort = effort.filter(|_| !is_off).map(Text::from);
    leave_out(&reasoning, "reasoning", left_out);
    Ok(())
}

/// Reads the form of the answer.
fn format(
    members: &mut Map<String, Value>,
    left_out: &mut Vec<String>,
) -> Result<Option<ResponseFormat>, RequestProblem> {
    let mut settings = option(members, "text")?;
    let mut format = option(&mut settings, "format").map_err(|error| error.in_place("text"))?;
    leave_out(&settings, "text", left_out);
    if format.is_empty() {
        return Ok(None);
    }
    let within = |error: RequestProblem| error.in_place("text.format");
    let kind = required_text(&mut format, "type").map_err(within)?;
    Ok(match &*kind {
        "text" => None,
        "json_object" => Some(ResponseFormat::JsonObject),
        "json_schema" => {
            let name = text(&mut format, "name").map_err(within)?;
            let lacks = || RequestProblem::new("text.format.schema", "is missing");
            let schema = format.remove("schema").ok_or_else(lacks)?;
            let strict = flag(&mut format, "strict").map_err(within)?.unwrap_or_default();
            let name = name.unwrap_or_else(|| "answer".to_owned());
            Some(ResponseFormat::json_schema(name, schema, strict))
        }
        other => {
            let expected = "expected `text`, `json_object` or `json_schema`";
            let problem = format!("{expected}, found {other:?}");
            return Err(RequestProblem::new("text.format.type", problem));
        }
    })
}
