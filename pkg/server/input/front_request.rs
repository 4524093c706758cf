//! Requests of vendors' clients: the messages of a request as the input of a run.

use std::{collections::BTreeMap, sync::Arc};

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{
    client_instructions::ClientInstructions,
    client_tools::{ClientTools, OfferedTool},
    ui_message::UiMessage,
    user_message::UserMessage,
};
use crate::Problem;
use forgeline_agent::RunInput;
use forgeline_llm::{
    ResponseFormat, ToolChoice,
    gateway::{ClientRequest, RequestProblem},
};
use forgeline_types::{Message, MessageRole, Part, Text, TextOrigin, ToolCall, ToolResult};

/// Maximum number of messages of a request.
const MAX_MESSAGES: usize = 2_000;

/// The name under which a run has the instructions of its client among its metadata, if the host wants them there.
const INSTRUCTIONS: &str = "client_instructions";

/// Members that are left out, as the agent decides about them; the response names those that a request has.
type IgnoredMembers = Vec<String>;

/// A request of a vendor's client, as far as it concerns a run.
#[derive(Debug)]
pub(crate) struct FrontRequest {
    /// The name of the model, which is that of an agent.
    pub(crate) model: Text,
    pub(crate) form: AnswerForm,
    /// The tools of the client.
    tools: Vec<OfferedTool>,
    /// The instructions of the client, which are not the operator's.
    instructions: Option<String>,
    /// The messages before the last ones.
    earlier: Vec<Message>,
    /// The results of calls after the last message of the model.
    results: Vec<ToolResult>,
    /// The parts of the user's messages after the last message of the model.
    said: Vec<Part>,
    metadata: BTreeMap<String, String>,
    pub(crate) ignored: IgnoredMembers,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    Whole,
    /// A stream, at whose end the token counts may be.
    Stream {
        include_usage: bool,
    },
}

/// The input of a run, and the messages before it.
pub(crate) struct FrontInput {
    pub(crate) input: RunInput,
    pub(crate) history: Vec<Message>,
}

impl From<RequestProblem> for Problem {
    fn from(problem: RequestProblem) -> Self {
        let refusal = Self::bad(problem.to_string());
        if problem.place.is_empty() { refusal } else { refusal.with("param", problem.place) }
    }
}

impl FrontRequest {
    /// Reads what a client asked for.
    ///
    /// # Errors
    ///
    /// Returns a problem if the answer would be another one than the client asked for.
    pub(crate) fn new(received: ClientRequest) -> Result<Self, Problem> {
        let ClientRequest { model, mut request, stream, include_usage, left_out, .. } = received;
        check_unsupported(&request)?;
        let tools = match request.tool_choice {
            Some(ToolChoice::None) => Vec::new(),
            _ => request.tools.iter().map(OfferedTool::of_spec).collect(),
        };
        let mut ignored = ignored_members(&request);
        ignored.extend(left_out);
        let metadata = std::mem::take(&mut request.metadata);
        let mut instructions: Vec<String> =
            request.system.take().map(|text| text.to_string()).into_iter().collect();
        let mut messages = Vec::with_capacity(request.messages.len());
        for message in &request.messages {
            if message.role == MessageRole::System {
                instructions.push(message.text());
            } else {
                messages.push(Message::clone(message));
            }
        }
        if messages.len() > MAX_MESSAGES {
            let detail = format!(
                "`messages` has {} messages; the limit is {MAX_MESSAGES}; leave out earlier ones",
                messages.len()
            );
            return Err(Problem::bad(detail).with("param", "messages"));
        }
        let last = messages.iter().rposition(|message| message.role == MessageRole::Assistant);
        let newest = messages.split_off(last.map_or(0, |last| last + 1));
        let (mut results, mut said) = (Vec::new(), Vec::new());
        for message in newest {
            if message.role == MessageRole::Tool {
                results.extend(message.parts.into_iter().filter_map(into_result));
            } else {
                said.extend(checked(message.parts)?);
            }
        }
        let instructions = instructions.join("\n\n");
        let instructions = Some(instructions).filter(|text| !text.trim().is_empty());
        let form = if stream { AnswerForm::Stream { include_usage } } else { AnswerForm::Whole };
        let earlier = messages;
        let request =
            Self { model, form, tools, instructions, earlier, results, said, metadata, ignored };
        Ok(request)
    }

    /// Returns the ids of the calls whose results the client sends.
    pub(crate) fn sent_calls(&self) -> Vec<Text> {
        self.results.iter().map(|result| result.call_id.clone()).collect()
    }

    /// Returns `true` if the user says something after the last message of the model.
    pub(crate) fn has_user_message(&self) -> bool {
        !self.said.is_empty()
    }

    /// Returns the tools of the client; `None` if it has none.
    pub(crate) fn client_tools(&self) -> Result<Option<Arc<ClientTools>>, Problem> {
        if self.tools.is_empty() {
            return Ok(None);
        }
        ClientTools::new(self.tools.clone()).map(Some)
    }

    /// Returns the results of the client and what the user says after them, as messages to a run whose id begins the ids of the calls.
    pub(crate) fn answers(self, run_id: &str) -> Result<Vec<UiMessage>, Problem> {
        let mut messages = Vec::with_capacity(self.results.len() + 1);
        for ToolResult { call_id, content, parts, .. } in self.results {
            if !parts.is_empty() {
                let detail = "the result of a call must be text";
                return Err(Problem::bad(detail).with("param", "messages"));
            }
            let id = call_id.strip_prefix(run_id).and_then(|id| id.strip_prefix('.'));
            messages.push(UiMessage::result(id.unwrap_or(&call_id), content));
        }
        let text: Vec<_> = self.said.iter().filter_map(Part::as_text).collect();
        if text.len() < self.said.len() {
            let detail = "a message after the results of calls must be text; send pictures and files once the run has ended";
            return Err(Problem::bad(detail).with("param", "messages"));
        }
        if !text.is_empty() {
            messages.push(UiMessage::users(text.join("\n\n")));
        }
        Ok(messages)
    }

    /// Returns the input of a run, and the messages before it if the run's conversation begins with them.
    ///
    /// # Errors
    ///
    /// Returns a problem if the last message is not the user's, or if the host refuses instructions of clients.
    pub(crate) fn input(
        self,
        rule: ClientInstructions,
        begins: bool,
    ) -> Result<FrontInput, Problem> {
        let Self { instructions, earlier, results, mut said, metadata, .. } = self;
        if said.is_empty() {
            let detail = "the last of `messages` must be a user message with text, an image or a file, or the results of calls of this service";
            return Err(Problem::bad(detail).with("param", "messages"));
        }
        let mut history = if begins { history(earlier, results)? } else { Vec::new() };
        let mut in_metadata = None;
        match (instructions, rule) {
            (Some(_), ClientInstructions::Refuse) => {
                let detail = "this service takes no instructions from clients; leave out the `system` and `developer` messages";
                let problem = Problem::new(StatusCode::BAD_REQUEST, "instructions_refused", detail);
                return Err(problem.with("param", "messages"));
            }
            (Some(text), ClientInstructions::InMetadata) => in_metadata = Some(text),
            // A conversation that goes on has them at its beginning.
            (Some(text), ClientInstructions::AsUserText) if begins => {
                let first = history.iter_mut().find(|it| it.role == MessageRole::User);
                let parts = first.map_or(&mut said, |message| &mut message.parts);
                parts.insert(0, Part::text(marked(&text)));
            }
            (Some(_), ClientInstructions::AsUserText) | (None, _) => {}
        }
        let mut input = RunInput::from(said);
        for (name, value) in metadata {
            input = input.metadata(name, value);
        }
        if let Some(text) = in_metadata {
            input = input.metadata(INSTRUCTIONS, text);
        }
        Ok(FrontInput { input, history })
    }
}

/// Refuses members because of which the client would expect another answer.
fn check_unsupported(request: &forgeline_llm::Request) -> Result<(), Problem> {
    let is_set = |name: &str, is_unset: fn(&Value) -> bool| {
        request.extra.get(name).is_some_and(|value| !is_unset(value))
    };
    let rows: [(bool, &str, &str); 6] = [
        (is_set("n", |n| n.as_u64() == Some(1)), "n", "an agent gives one answer; leave it out"),
        (
            is_set("logprobs", |it| *it == json!(false)),
            "logprobs",
            "an agent has no probabilities of tokens; leave it out",
        ),
        (
            is_set("modalities", |it| *it == json!(["text"])) || is_set("audio", Value::is_null),
            "modalities",
            "an agent answers with text; leave it out",
        ),
        (
            is_set("functions", |it| it.as_array().is_some_and(Vec::is_empty)),
            "functions",
            "describe them as `tools`",
        ),
        (
            matches!(
                request.response_format,
                Some(ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. })
            ),
            "response_format",
            "the agent decides the form of its answer; leave it out",
        ),
        (
            matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_))),
            "tool_choice",
            "the agent decides which tools it calls; expected `auto` or `none`",
        ),
    ];
    match rows.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, name, detail)) => {
            let problem = Problem::new(
                StatusCode::BAD_REQUEST,
                "unsupported_member",
                format!("`{name}` is not supported: {detail}"),
            );
            Err(problem.with("param", name))
        }
        None => Ok(()),
    }
}

/// Returns the members that are set and left out.
fn ignored_members(request: &forgeline_llm::Request) -> IgnoredMembers {
    let known = [
        ("max_tokens", request.max_tokens.is_some()),
        ("temperature", request.temperature.is_some()),
        ("top_p", request.top_p.is_some()),
        ("top_k", request.top_k.is_some()),
        ("seed", request.seed.is_some()),
        ("stop", !request.stop.is_empty()),
        ("reasoning_effort", request.reasoning_effort.is_some()),
        ("parallel_tool_calls", request.parallel_tool_calls.is_some()),
    ];
    let known = known.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned());
    known.chain(request.extra.keys().cloned()).collect()
}

/// Returns instructions of a client as a text of the user.
fn marked(instructions: &str) -> String {
    format!(
        "[Instructions of the client program, which are not the operator's:]\n{instructions}\n[End of the client's instructions]\n\n"
    )
}

/// Returns the user's parts, if the run can have them.
fn checked(parts: Vec<Part>) -> Result<Vec<Part>, Problem> {
    // A blank text is one of several messages, or refused with all of them.
    let has_content = |part: &Part| part.as_text().is_none_or(|text| !text.trim().is_empty());
    let parts: Vec<_> = parts.into_iter().filter(has_content).collect();
    if parts.is_empty() { Ok(parts) } else { UserMessage::Parts(parts).parts() }
}

fn into_result(part: Part) -> Option<ToolResult> {
    if let Part::ToolResult(result) = part { Some(result) } else { None }
}

/// Returns the messages before the user's last ones, from the first one of the user on: texts, pictures and files of the user, texts of the model, and
/// calls that have their results. No reasoning, and no items of a vendor.
fn history(earlier: Vec<Message>, newest: Vec<ToolResult>) -> Result<Vec<Message>, Problem> {
    let mut read: Vec<Message> = Vec::with_capacity(earlier.len() + 1);
    let mut messages = earlier.into_iter().peekable();
    let mut newest = Some(newest).filter(|results| !results.is_empty());
    while let Some(message) = messages.next() {
        match message.role {
            MessageRole::User => {
                let parts = checked(message.parts)?;
                if !parts.is_empty() {
                    read.push(Message::new(MessageRole::User, parts));
                }
            }
            MessageRole::Assistant => {
                let next = messages.next_if(|next| next.role == MessageRole::Tool);
                let results = match next {
                    Some(next) => next.parts.into_iter().filter_map(into_result).collect(),
                    None if messages.peek().is_none() => newest.take().unwrap_or_default(),
                    None => Vec::new(),
                };
                read.extend(answer_and_results(&message, results));
            }
            MessageRole::System | MessageRole::Tool => {}
            _ => {}
        }
    }
    let first = read.iter().position(|message| message.role == MessageRole::User);
    Ok(read.split_off(first.unwrap_or(read.len())))
}

/// Returns a message of the model with its text and the calls that have results, and a message with the results.
fn answer_and_results(message: &Message, mut results: Vec<ToolResult>) -> Vec<Message> {
    let text = message.text();
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(Part::text(text));
    }
    let mut given = Vec::new();
    for call in message.tool_calls() {
        let at = results.iter().position(|result| result.call_id == call.id);
        if let (Some(at), Some(arguments)) = (at, &call.arguments) {
            let ToolResult { call_id, name, content, .. } = results.remove(at);
            let result = ToolResult::new(call_id, name, content).origin(TextOrigin::Outside);
            given.push(Part::ToolResult(result));
            let mut own = ToolCall::new(call.id.clone(), call.name.clone(), arguments.clone());
            own.index = u32::try_from(given.len() - 1).unwrap_or(u32::MAX);
            parts.push(Part::ToolCall(own));
        }
    }
    let answer = (!parts.is_empty()).then(|| Message::new(MessageRole::Assistant, parts));
    let given = (!given.is_empty()).then(|| Message::new(MessageRole::Tool, given));
    answer.into_iter().chain(given).collect()
}
