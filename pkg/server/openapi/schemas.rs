//! Schemas of responses, and of what requests and responses have in common: the tests of the service check each response that they get by them.
#![expect(dead_code, reason = "only the schemas are used")]

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// An error, as in RFC 9457. Programs read `status` and `code`.
#[derive(JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemAnswer {
    r#type: String,
    /// The error, for programs, such as `not_found`.
    code: String,
    title: String,
    status: u16,
    /// A text for people: the problem, and what to do.
    detail: String,
    /// The last event that exists, where one was asked for that does not exist yet.
    #[serde(default)]
    last_event_id: Option<Value>,
}

/// An error in the form of OpenAI's API.
#[derive(JsonSchema)]
#[schemars(rename = "VendorError")]
pub(crate) struct VendorErrorAnswer {
    error: VendorErrorBody,
}

#[derive(JsonSchema)]
#[schemars(rename = "VendorErrorBody")]
struct VendorErrorBody {
    /// A text for people: the problem, and what to do.
    message: String,
    r#type: String,
    /// The member of the request that is wrong.
    param: Option<String>,
    /// The error, for programs.
    code: Option<String>,
}

/// The agents as models.
#[derive(JsonSchema)]
#[schemars(rename = "Models")]
pub(crate) struct ModelsAnswer {
    object: String,
    data: Vec<ListedModelAnswer>,
}

/// An agent as a model.
#[derive(JsonSchema)]
#[schemars(rename = "Model")]
pub(crate) struct ListedModelAnswer {
    /// The name of the agent, or the agent, a slash and one of its models.
    id: String,
    object: String,
    created: u64,
    /// The provider.
    owned_by: String,
}

/// A request was taken.
#[derive(JsonSchema)]
#[schemars(rename = "Done")]
pub(crate) struct DoneAnswer {
    status: DoneWord,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
enum DoneWord {
    Ok,
    Stored,
}

/// A run that was started.
#[derive(JsonSchema)]
#[schemars(rename = "StartedRun")]
pub(crate) struct StartedAnswer {
    run_id: String,
    conversation_id: String,
}

/// The state of a run.
#[derive(JsonSchema)]
#[schemars(rename = "Run")]
pub(crate) struct RunAnswer {
    run_id: String,
    conversation_id: String,
    status: RunWord,
    /// The members of the request besides the input.
    request: Option<Map<String, Value>>,
    usage: Option<UsageAnswer>,
    /// The cost, once the run has ended.
    cost: Option<Value>,
    end: Option<EndAnswer>,
}

#[derive(JsonSchema)]
#[schemars(rename = "RunStatus", rename_all = "snake_case")]
enum RunWord {
    Queued,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

/// Token counts; unknown ones are null.
#[derive(JsonSchema)]
#[schemars(rename = "Usage")]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct UsageAnswer {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

/// The end of a run, which is also its last event.
#[derive(JsonSchema)]
#[schemars(rename = "RunEnd")]
struct EndAnswer {
    run_id: String,
    seq: u64,
    r#type: String,
    status: RunWord,
    /// The way in which the run ended, such as `answered`.
    ending: Option<String>,
    error: Option<Map<String, Value>>,
    finish_reason: Option<String>,
    usage: Option<UsageAnswer>,
    spent: Option<Map<String, Value>>,
}

/// The agents, the default one first.
#[derive(JsonSchema)]
#[schemars(rename = "Agents")]
pub(crate) struct AgentsAnswer {
    agents: Vec<AgentAnswer>,
}

#[derive(JsonSchema)]
#[schemars(rename = "Agent")]
struct AgentAnswer {
    name: String,
    provider: String,
    model: String,
    /// The models that a request may choose.
    models: Vec<String>,
}

/// The tools of the agents that the caller may use.
#[derive(JsonSchema)]
#[schemars(rename = "Tools")]
pub(crate) struct ToolsAnswer {
    tools: Vec<ToolAnswer>,
}

#[derive(JsonSchema)]
#[schemars(rename = "Tool")]
struct ToolAnswer {
    agent: String,
    name: String,
    description: String,
    parameters: Value,
    place: PlaceWord,
    module: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
enum PlaceWord {
    Client,
    Server,
}

/// A conversation.
#[derive(JsonSchema)]
#[schemars(rename = "Conversation")]
pub(crate) struct ConversationAnswer {
    id: String,
    agent: String,
    title: Option<String>,
    status: ConversationWord,
    created_ms: u64,
    updated_ms: u64,
    /// The number of its messages.
    messages: u64,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
enum ConversationWord {
    Active,
    Ended,
    Erased,
}

/// A page of conversations, the one that changed last first.
#[derive(JsonSchema)]
#[schemars(rename = "Conversations")]
pub(crate) struct ConversationsAnswer {
    conversations: Vec<ConversationAnswer>,
    /// The `after` of the next page.
    next: Option<String>,
}

/// A conversation with a page of its messages.
#[derive(JsonSchema)]
#[schemars(rename = "ConversationPage")]
pub(crate) struct ConversationPageAnswer {
    id: String,
    agent: String,
    title: Option<String>,
    status: ConversationWord,
    created_ms: u64,
    updated_ms: u64,
    messages: u64,
    page: PageAnswer,
    /// The run in progress.
    open_run: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename = "MessagePage")]
struct PageAnswer {
    messages: Vec<MessageAnswer>,
    /// The `after` of the next page.
    next: Option<u64>,
    /// The `before` of the page before.
    previous: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename = "StoredMessage")]
struct MessageAnswer {
    number: u64,
    at_ms: u64,
    message: Map<String, Value>,
    run_id: Option<String>,
    /// The parts with text and calls separated, where the model wrote its calls as text.
    as_read: Option<Vec<Value>>,
    taken_back: Option<bool>,
}

/// The chats of the caller, or one of them.
#[derive(JsonSchema)]
#[schemars(rename = "ChatHistory", untagged)]
pub(crate) enum HistoryAnswer {
    All(ConversationsAnswer),
    One(ConversationPageAnswer),
}

/// A page of runs, newest first.
#[derive(JsonSchema)]
#[schemars(rename = "Runs")]
pub(crate) struct RunsAnswer {
    runs: Vec<ListedRunAnswer>,
    /// The `after` of the next page.
    next: Option<String>,
}

/// A run in a list.
#[derive(JsonSchema)]
#[schemars(rename = "ListedRun")]
struct ListedRunAnswer {
    run_id: String,
    conversation_id: String,
    /// The id of the caller that began it; empty once it was erased.
    owner: String,
    agent: String,
    status: RunWord,
    begun_ms: u64,
    ended_ms: Option<u64>,
    /// The token usage, once it has ended.
    usage: Option<UsageAnswer>,
}

/// A page of audit rows, newest first.
#[derive(JsonSchema)]
#[schemars(rename = "AuditRows")]
pub(crate) struct AuditRowsAnswer {
    rows: Vec<AuditRowAnswer>,
    /// The `after` of the next page.
    next: Option<String>,
}

/// Something that was done or refused, in the chain of its scope.
#[derive(JsonSchema)]
#[schemars(rename = "AuditRow")]
struct AuditRowAnswer {
    /// The number in the scope, from 0.
    seq: u64,
    scope: String,
    id: String,
    r#type: String,
    /// The part that reports it.
    source: String,
    at_ms: u64,
    /// The id of the caller that did it.
    actor: Option<String>,
    /// The id of the caller whose data it is about, if named.
    owner: Option<String>,
    /// The run, conversation, tool and request that it is about.
    subject: Option<Map<String, Value>>,
    payload: Option<Map<String, Value>>,
    salt: Option<String>,
    /// `true` if actor, owner, subject and payload were erased.
    erased: bool,
    /// The SHA-256 of what an erasure removes.
    seal: String,
    /// The SHA-256 of the row and of all before it.
    hash: String,
}

/// The result of a check of the chain.
#[derive(JsonSchema)]
#[schemars(rename = "AuditCheck")]
pub(crate) struct AuditCheckAnswer {
    whole: bool,
    /// The number of rows that were checked.
    rows: u64,
    /// The number of those whose content was erased.
    erased: u64,
    /// The number of the first row that is kept.
    first: u64,
    /// The number that the next row will have.
    next: u64,
    /// The hash of the last row. Keep it, with `next`, outside of the service.
    hash: String,
    /// The first fault.
    problem: Option<String>,
}

/// A notification that was sent.
#[derive(JsonSchema)]
#[schemars(rename = "SentNotification")]
pub(crate) struct NotifiedAnswer {
    id: String,
    number: u64,
}

/// The readiness of the service; callers with a token also see its checks.
#[derive(JsonSchema)]
#[schemars(rename = "Readiness")]
pub(crate) struct ReadyAnswer {
    status: ReadyWord,
    checks: Option<Vec<CheckAnswer>>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
enum ReadyWord {
    Ready,
    Degraded,
    Unready,
    Ending,
}

#[derive(JsonSchema)]
#[schemars(rename = "Check")]
struct CheckAnswer {
    name: String,
    status: String,
    detail: Option<String>,
    millis: u64,
}

/// An object.
#[derive(JsonSchema)]
#[schemars(rename = "Object")]
pub(crate) struct ObjectSchema {
    #[schemars(flatten)]
    members: Map<String, Value>,
}
