//! Reading of Messages requests, for a server whose clients speak that protocol.

mod blocks;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use self::blocks::BlockReader;
use super::message_writer::MessageWriter;
use crate::{
    PromptCache, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    decode::{JsonEntries, lax_json::list},
    gateway::{
        ClientRequest, RequestProblem, client_protocol, flag, number, object, option,
        required_text, root, text, texts, tools, unlike,
    },
};
use forgeline_types::{Message, MessageRole, Part, Text, Transcript};

/// Reads the body of a Messages request.
///
/// The first text of `system` becomes [`Request::system`], further ones are instructions at the beginning of the conversation. Reasoning
/// keeps its signature, and blocks of the vendor's own tools stay as they are; results of tools get the names of their calls. Marks for
/// the prompt cache become [`Request::cache`], which chooses their places. Tools other than functions, files by id and blocks of an
/// unknown kind from the user are errors; other members are kept in [`Request::extra`] or named in
/// [`left_out`](ClientRequest::left_out). The caller bounds the length of the body.
///
/// # Errors
///
/// Returns the first place that is not as the protocol has it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Thinking, anthropic::read_request};
///
/// let body = r#"{"model":"small","max_tokens":4096,"system":"Be brief.",
///     "thinking":{"type":"enabled","budget_tokens":2000},
///     "messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#;
/// let received = read_request(body.as_bytes())?;
/// assert_eq!(received.request.system.as_deref(), Some("Be brief."));
/// assert_eq!(received.request.thinking, Some(Thinking::Budget(2000)));
///
/// let error = read_request(br#"{"model":"small","messages":[{"role":"user","content":7}]}"#);
/// let words = "messages[0].content: expected a text or a list of blocks, found a number";
/// assert_eq!(error.unwrap_err().to_string(), words);
/// # Ok::<(), forgeline::llm::gateway::RequestProblem>(())
/// ```
pub fn read_request(body: &[u8]) -> Result<ClientRequest, RequestProblem> {
    let (mut members, model) = root(body)?;
    let wire: WireBody<'_> = serde_json::from_slice(body)
        .map_err(|error| RequestProblem::new("messages", format!("cannot be read: {error}")))?;
    let mut reader = BlockReader::default();
    let (system, mut messages) = reader.system(members.remove("system"))?;
    let value = members.remove("messages").unwrap_or_default();
    messages.extend(read_messages(value, &list(wire.messages), &mut reader)?);
    let mut request = Request::new(Transcript::from(messages));
    request.system = system;
    request.tools = tools(&mut members, |tool, place| read_tool(tool, place, &mut reader))?;
    let (choice, parallel) = tool_choice(&mut members, &mut reader)?;
    (request.tool_choice, request.parallel_tool_calls) = (choice, parallel);
    request.max_tokens = number(&mut members, "max_tokens")?;
    request.top_k = number(&mut members, "top_k")?;
    request.stop = texts(&mut members, "stop_sequences")?;
    request.thinking = thinking(&mut members, &mut reader)?;
    output(&mut members, &mut request, &mut reader)?;
    let is_automatic = members.remove("cache_control").is_some_and(|mark| !mark.is_null());
    request.cache = if is_automatic {
        Some(PromptCache::Automatic)
    } else {
        reader.has_marks.then_some(PromptCache::Marks)
    };
    ClientRequest::with_members(model, members, request, reader.left_out)
}

client_protocol!(MessageWriter);

/// The part of a body that is read as written: arguments and blocks of the vendor keep the spelling of their numbers.
#[derive(Deserialize)]
struct WireBody<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
}

fn read_messages(
    messages: Value,
    written: &[&RawValue],
    reader: &mut BlockReader,
) -> Result<Vec<Message>, RequestProblem> {
    let Value::Array(messages) = messages else {
        return Err(unlike("messages", "a list", &messages));
    };
    let mut read = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let place = format!("messages[{at}]");
        let mut members = object(message, &place)?;
        let role = required_text(&mut members, "role").map_err(|it| it.in_place(&place))?;
        let content = members.remove("content").unwrap_or_default();
        reader.leave_out(&members, &place);
        let written = JsonEntries::from_raw(written.get(at).copied());
        let place = format!("{place}.content");
        read.push(match &*role {
            "assistant" => {
                let parts = reader.assistant(content, &list(written.get("content")), &place)?;
                Message::new(MessageRole::Assistant, parts)
            }
            "user" => {
                let parts = reader.user(content, &place)?;
                let has_results = parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
                let role = if has_results { MessageRole::Tool } else { MessageRole::User };
                Message::new(role, parts)
            }
            other => {
                let problem = format!("expected `user` or `assistant`, found {other:?}");
                return Err(RequestProblem::new(format!("messages[{at}].role"), problem));
            }
        });
    }
    Ok(read)
}

fn read_tool(
    tool: Value,
    place: &str,
    reader: &mut BlockReader,
) -> Result<ToolSpec, RequestProblem> {
    let within = |error: RequestProblem| error.in_place(place);
    let mut tool = object(tool, place)?;
    if let Some(kind) = text(&mut tool, "type").map_err(within)?
        && kind != "custom"
    {
        let problem = format!("expected `custom`, found {kind:?}");
        return Err(RequestProblem::new(format!("{place}.type"), problem));
    }
    let name = required_text(&mut tool, "name").map_err(within)?;
    let description = text(&mut tool, "description").map_err(within)?.unwrap_or_default();
    let schema = tool.remove("input_schema").filter(|schema| !schema.is_null());
    let schema = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    let strict = flag(&mut tool, "strict").map_err(within)?.unwrap_or_default();
    reader.mark(&mut tool, place);
    reader.leave_out(&tool, place);
    Ok(ToolSpec::new(name, description, schema).strict(strict))
}

/// Reads the choice of tools, and whether several calls at once are allowed.
fn tool_choice(
    members: &mut Map<String, Value>,
    reader: &mut BlockReader,
) -> Result<(Option<ToolChoice>, Option<bool>), RequestProblem> {
    let mut choice = option(members, "tool_choice")?;
    if choice.is_empty() {
        return Ok((None, None));
    }
    let within = |error: RequestProblem| error.in_place("tool_choice");
    let single = flag(&mut choice, "disable_parallel_tool_use").map_err(within)?;
    let kind = required_text(&mut choice, "type").map_err(within)?;
    let read = match &*kind {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Tool(required_text(&mut choice, "name").map_err(within)?.into()),
        other => {
            let problem = format!("expected `auto`, `any`, `tool` or `none`, found {other:?}");
            return Err(RequestProblem::new("tool_choice.type", problem));
        }
    };
    reader.leave_out(&choice, "tool_choice");
    Ok((Some(read), single.map(|single| !single)))
}

fn thinking(
    members: &mut Map<String, Value>,
    reader: &mut BlockReader,
) -> Result<Option<Thinking>, RequestProblem> {
    let mut thinking = option(members, "thinking")?;
    if thinking.is_empty() {
        return Ok(None);
    }
    let within = |error: RequestProblem| error.in_place("thinking");
    let kind = required_text(&mut thinking, "type").map_err(within)?;
    let budget = number(&mut thinking, "budget_tokens").map_err(within)?;
    reader.leave_out(&thinking, "thinking");
    Ok(Some(match (&*kind, budget) {
        ("disabled", _) => Thinking::Off,
        ("adaptive", _) => Thinking::On,
        ("enabled", Some(budget)) => Thinking::Budget(budget),
        ("enabled", None) => {
            return Err(RequestProblem::new("thinking.budget_tokens", "is missing"));
        }
        (other, _) => {
            let problem = format!("expected `enabled`, `adaptive` or `disabled`, found {other:?}");
            return Err(RequestProblem::new("thinking.type", problem));
        }
    }))
}

/// Reads the effort and the form of the answer.
fn output(
    members: &mut Map<String, Value>,
    request: &mut Request,
    reader: &mut BlockReader,
) -> Result<(), RequestProblem> {
    let mut output = option(members, "output_config")?;
    let within = |error: RequestProblem| error.in_place("output_config");
    request.reasoning_effort = text(&mut output, "effort").map_err(within)?.map(Text::from);
    let mut format = option(&mut output, "format").map_err(within)?;
    reader.leave_out(&output, "output_config");
    if format.is_empty() {
        return Ok(());
    }
    let within = |error: RequestProblem| error.in_place("output_config.format");
    let kind = required_text(&mut format, "type").map_err(within)?;
    let schema = format.remove("schema");
    match (&*kind, schema) {
        ("json_schema", Some(schema)) => {
            request.response_format = Some(ResponseFormat::json_schema("answer", schema, true));
        }
        ("json_schema", None) => {
            return Err(RequestProblem::new("output_config.format.schema", "is missing"));
        }
        (other, _) => {
            let problem = format!("expected `json_schema`, found {other:?}");
            return Err(RequestProblem::new("output_config.format.type", problem));
        }
    }
    reader.leave_out(&format, "output_config.format");
    Ok(())
}
