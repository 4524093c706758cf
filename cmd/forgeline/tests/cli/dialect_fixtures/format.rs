//! The data format of `testdata/dialects/NAME.json`, and what a fixture means.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names only what it looks at")]

use std::{fs, path::Path};

use forgeline::{
    llm::parser::{ThinkingDialect, ToolDialect},
    types::{AgentEvent, CallOutcome, Json, PartialJson, ToolCallContentEvent},
};
use forgeline_cli::{pipeline::ReadOptions, tools_file::tool_schemas};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::cuts::Joined;

/// The fixtures of one dialect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) dialect: String,
    /// The thinking dialect; `none` when left out.
    #[serde(default = "none")]
    pub(super) thinking: String,
    /// Whether `auto` reads the fixtures alike: it does when the dialect has an opener of its own.
    #[serde(default = "yes")]
    pub(super) auto: bool,
    pub(super) fixtures: Vec<Fixture>,
}

/// One text and what it means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fixture {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) text: String,
    /// A tool list in OpenAI's format.
    tools: Option<Value>,
    /// Why the model stopped, such as `length`.
    pub(super) finish: Option<String>,
    /// The end of the prompt.
    prompt_tail: Option<String>,
    /// Beat what the file says.
    thinking: Option<String>,
    dialect: Option<String>,
    pub(super) auto: Option<bool>,
    pub(super) expect: Expectation,
}

/// What a fixture is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Single,
    Parallel,
    TextAround,
    EmptyArguments,
    Nested,
    Unicode,
    MarkersInValues,
    NewlineFraming,
    Truncated,
    Malformed,
    #[serde(other)]
    Other,
}

impl Kind {
    /// The kinds that every dialect has, and how often at least.
    pub(super) const REQUIRED: [(Self, usize); 10] = [
        (Self::Single, 1),
        (Self::Parallel, 1),
        (Self::TextAround, 1),
        (Self::EmptyArguments, 1),
        (Self::Nested, 1),
        (Self::Unicode, 1),
        (Self::MarkersInValues, 1),
        (Self::NewlineFraming, 1),
        (Self::Truncated, 3),
        (Self::Malformed, 2),
    ];
}

/// What a text is to mean. What is left out is not compared, but for text and thinking, which are
/// then empty.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectation {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    calls: Vec<ExpectedCall>,
    /// The sections and calls in order of their starts: `thinking`, `message`, `call`.
    order: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedCall {
    /// Null when the model named no tool.
    name: Option<String>,
    /// Null unless the call is complete.
    arguments: Option<Box<RawValue>>,
    #[serde(default = "complete")]
    outcome: String,
    #[serde(default)]
    repairs: Vec<String>,
    id: Option<String>,
    server: Option<String>,
    /// Part of the reason of a malformed call.
    reason: Option<String>,
    offset: Option<usize>,
}

fn none() -> String {
    "none".to_owned()
}

fn yes() -> bool {
    true
}

fn complete() -> String {
    "complete".to_owned()
}

/// Every file of `testdata/dialects` or `testdata/thinking`, in the order of their names.
pub(super) fn files(folder: &str) -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder);
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
}

impl Fixture {
    /// How the text is read.
    pub(super) fn reading(&self, file: &File) -> Result<ReadOptions, String> {
        let thinking = self.thinking.as_ref().unwrap_or(&file.thinking);
        let tools = ToolDialect::by_name(self.dialect.as_ref().unwrap_or(&file.dialect));
        let schemas = self.tools.as_ref().map(tool_schemas).transpose();
        Ok(ReadOptions {
            tools: tools.ok_or("there is no such dialect")?,
            thinking: ThinkingDialect::by_name(thinking).ok_or("there is no such thinking")?,
            schemas: schemas.map_err(|error| format!("tools: {error:#}"))?.unwrap_or_default(),
            starts_inside: false,
            prompt_tail: self.prompt_tail.clone(),
        })
    }
}

/// What a text means, as a fixture says it.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Meaning {
    text: String,
    thinking: String,
    calls: Vec<MeantCall>,
    order: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct MeantCall {
    name: Option<String>,
    /// Spelled in one way, numbers as they were written.
    arguments: Option<Json>,
    outcome: String,
    repairs: Vec<String>,
    id: String,
    server: Option<String>,
    reason: Option<String>,
    offset: Option<usize>,
}

impl Meaning {
    /// Takes the meaning out of a run; the joined deltas of a complete call must be its arguments.
    pub(super) fn from_run((events, completion): &Joined) -> Result<Self, String> {
        let mut calls = Vec::new();
        for call in &completion.tool_calls {
            let mut deltas = String::new();
            for event in events {
                if let AgentEvent::ToolCallContent(ToolCallContentEvent {
                    index, arguments, ..
                }) = event
                    && *index == call.index
                {
                    deltas.push_str(arguments);
                }
            }
            let arguments = call.arguments.as_ref();
            if call.is_complete() && Json::parse(&deltas).ok().as_ref() != arguments {
                return Err(format!("the deltas {deltas:?} are not the arguments {arguments:?}"));
            }
            let (outcome, reason, offset) = match &call.outcome {
                CallOutcome::Complete => ("complete", None, None),
                CallOutcome::Incomplete => ("incomplete", None, None),
                CallOutcome::Malformed { reason, offset, .. } => {
                    ("malformed", Some(reason.to_string()), Some(*offset))
                }
                _ => return Err("an outcome that this test does not know".to_owned()),
            };
            calls.push(MeantCall {
                name: Some(call.name.to_string()).filter(|name| !name.is_empty()),
                arguments: arguments.map(|json| spelled(json.as_str())),
                outcome: outcome.to_owned(),
                repairs: call.repairs.iter().map(ToString::to_string).collect(),
                id: call.id.to_string(),
                server: call.server_name.as_ref().map(ToString::to_string),
                reason,
                offset,
            });
        }
        let mut order: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::ThinkingStart => Some("thinking".to_owned()),
                AgentEvent::MessageStart => Some("message".to_owned()),
                AgentEvent::ToolCallStart(_) => Some("call".to_owned()),
                _ => None,
            })
            .collect();
        // A marker that belongs to nothing ends a section; what follows is of the same kind.
        order.dedup_by(|next, last| next == last && next != "call");
        let (text, thinking) = (completion.text.clone(), completion.thinking.clone());
        Ok(Self { text, thinking, calls, order })
    }
}

/// The same value with its strings escaped in one way and its numbers as they were.
fn spelled(json: &str) -> Json {
    let mut value = PartialJson::new();
    value.push(json).and_then(|()| value.finish()).unwrap();
    value.value().unwrap().to_json()
}

impl Expectation {
    /// Whether it was met; if not, both sides.
    pub(super) fn compare(&self, meant: &Meaning) -> Result<(), String> {
        // What is left out is taken from what was read.
        let calls = self.calls.iter().enumerate().map(|(at, call)| {
            let meant = meant.calls.get(at);
            let reason = meant.and_then(|meant| meant.reason.clone());
            let is_reason = |meant: &String| {
                call.reason.as_ref().is_none_or(|wanted| meant.contains(wanted.as_str()))
            };
            let id = call.id.clone().or(meant.map(|meant| meant.id.clone()));
            MeantCall {
                name: call.name.clone().filter(|name| !name.is_empty()),
                arguments: call.arguments.as_ref().map(|json| spelled(json.get())),
                outcome: call.outcome.clone(),
                repairs: call.repairs.clone(),
                id: id.unwrap_or_default(),
                server: call.server.clone(),
                reason: reason.filter(is_reason).or(call.reason.clone()),
                offset: call.offset.or(meant.and_then(|meant| meant.offset)),
            }
        });
        let wanted = Meaning {
            text: self.text.clone(),
            thinking: self.thinking.clone(),
            calls: calls.collect(),
            order: self.order.clone().unwrap_or_else(|| meant.order.clone()),
        };
        let show = |meaning| serde_json::to_string(meaning).unwrap();
        let (want, got) = (show(&wanted), show(meant));
        if wanted == *meant { Ok(()) } else { Err(format!("\n  want {want}\n   got {got}")) }
    }
}
