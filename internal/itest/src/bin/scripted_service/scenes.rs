//! The scenes.

use std::time::Duration;

use forgeline::{
    agent::{Agent, BuildError, sub_agents::SubAgent, tools::Calculator},
    llm::{ProviderError, Request, StreamChunk, demo::DemoProvider},
    testing::{ScriptedProvider, ScriptedTurn},
    types::{MessageRole, Part, UsageInfo},
};
use serde_json::json;

use super::{
    paced::Paced,
    tools::{Command, Edit, at_client, booking, price, sign},
};

const MARKDOWN: &str = include_str!("long.md");
const HOSTILE: &str = include_str!("hostile.md");

/// Deltas of the answer that is long; their run has some more events.
const MANY: usize = 10_000;

/// Returns the agent that plays all scenes.
pub(crate) fn agent() -> Result<Agent, BuildError> {
    let reckoner = Agent::builder(model()).tool(Calculator).build()?;
    let reckoner = SubAgent::new(reckoner, "reckoner", "Works out sums.");
    let researcher = Agent::builder(model()).tool(reckoner).tool(Edit).build()?;
    let mut agent = Agent::builder(model())
        .tool(Calculator)
        .tool(Edit)
        .tool(Command)
        .tool(booking())
        .tool(sign())
        .tool(price())
        .tool(SubAgent::new(researcher, "researcher", "Finds facts."));
    for tool in at_client() {
        agent = agent.tool(tool);
    }
    agent.build()
}

/// Returns the agent whose model writes calls as text.
pub(crate) fn written() -> Result<Agent, BuildError> {
    Agent::builder(DemoProvider::new()).tool(Calculator).build()
}

/// Returns the model of the agents.
pub(crate) fn model() -> Paced {
    Paced { inner: ScriptedProvider::from_fn(turn), pause }
}

/// The last thing that the user said, and the results of calls after it.
fn situation(request: &Request) -> (String, Vec<String>) {
    let (mut said, mut results) = (String::new(), Vec::new());
    for message in &request.messages {
        let has_text = message.parts.iter().any(|part| matches!(part, Part::Text { .. }));
        if message.role == MessageRole::User && has_text && message.tool_results().next().is_none()
        {
            said = message.text();
            results.clear();
        }
        results.extend(message.tool_results().map(|result| result.content.clone()));
    }
    (said, results)
}

fn pause(request: &Request) -> Duration {
    let (said, _) = situation(request);
    let millis = match said.split_whitespace().next() {
        Some("slow" | "steer") => 12,
        Some("many") => 0,
        _ => 1,
    };
    Duration::from_millis(millis)
}

/// Adds a text word by word.
fn words(mut turn: ScriptedTurn, text: &str) -> ScriptedTurn {
    for word in text.split_inclusive(' ') {
        turn = turn.text(word);
    }
    turn
}

fn used(turn: ScriptedTurn) -> ScriptedTurn {
    let mut usage = UsageInfo::default();
    usage.input_tokens = Some(1_840);
    usage.cache_read_tokens = Some(1_536);
    usage.output_tokens = Some(212);
    turn.usage(usage)
}

fn turn(request: &Request) -> ScriptedTurn {
    let (said, results) = situation(request);
    let new = ScriptedTurn::new;
    let scene = said.split_whitespace().next().unwrap_or_default();
    let first = results.is_empty();
    let result = results.last().map_or("", String::as_str);
    let turn = match scene {
        "think" if first => thought(new()).call("calculator", json!({ "expression": "6 * 7" })),
        "think" => words(new(), "Six times seven is **42**, as the calculator says."),
        "approve" if first => {
            let arguments =
                json!({ "path": "notes/shopping.md", "text": "green tea, 200 g\noat milk" });
            words(new(), "I will change the list. ").call("notes.edit", arguments)
        }
        // These characters reverse the order of the text between them; one is invisible.
        "disguised" if first => {
            let arguments = json!({ "path": "hidden/a\u{202e}gnp.exe\u{202c}.md", "text": "safe\u{200b} \u{1f469}\u{200d}\u{1f680}" });
            new().call("notes.edit", arguments)
        }
        "same" if first => new().call("notes.edit", json!({ "path": "same.md" })),
        "price" if first => new().call("price", json!({ "of": 1.0 })),
        "command" if first => {
            new().call("shell.run", json!({ "command": "cargo build --release" }))
        }
        "ask" if first => {
            new().call("ask_user", json!({ "question": "Which colour do you like best?" }))
        }
        "choose" if first => {
            let options = json!({ "question": "Which day suits you?", "options": ["Monday", "Tuesday", "Friday"] });
            new().call("ask_user", options)
        }
        "confirm" if first => {
            new().call("confirm", json!({ "message": "Shall I send the letter now?" }))
        }
        "unknown" if first => new().call("map.zoom", json!({ "place": "Graz" })),
        "book" if first => new().call("booking", json!({})),
        "sign" if first => new().call("sign", json!({})),
        "nested" if first => words(new(), "I ask a colleague. ")
            .call("researcher", json!({ "task": "research boats" })),
        "research" if first => thought(new())
            .call("reckoner", json!({ "task": "reckon 6 * 7" }))
            .call("notes.edit", json!({ "path": "notes/boats.md" })),
        "reckon" if first => new().call("calculator", json!({ "expression": "6 * 7" })),
        "research" | "reckon" => words(new(), "They sold 42 boats."),
        "markdown" => words(new(), MARKDOWN),
        "hostile" if first => {
            let call = json!({ "expression": "<img src=x onerror=\"window.hurt=1\">" });
            words(new().thinking(HOSTILE), HOSTILE).call("calculator", call)
        }
        "slow" => (1..=160).fold(new(), |turn, at| turn.text(format!("word{at} "))),
        "steer" if first => {
            let turn = (1..=80).fold(new(), |turn, at| turn.text(format!("step{at} ")));
            turn.call("calculator", json!({ "expression": "1 + 1" }))
        }
        // Words that repeat themselves would be cut.
        "many" => (1..=MANY).fold(new(), |turn, at| {
            turn.text(format!("delta{at}{}", if at % 40 == 0 { ".\n\n" } else { " " }))
        }),
        "calls" if results.len() < 3 => {
            new().call("calculator", json!({ "expression": format!("{} * 7", results.len() + 1) }))
        }
        "fail" => words(new(), "This will not end ")
            .fail(ProviderError::config("the key <b>was</b> refused")),
        _ if first => words(new(), &format!("You said: {said}")),
        _ => words(new(), &format!("The result is: {result}")),
    };
    used(turn)
}

fn thought(turn: ScriptedTurn) -> ScriptedTurn {
    let text = "The user wants a product. I could work it out by head, but the calculator is surer; it takes `6 * 7` as it is.";
    text.split_inclusive(' ').fold(turn, |turn, word| turn.chunk(StreamChunk::thinking(word)))
}
