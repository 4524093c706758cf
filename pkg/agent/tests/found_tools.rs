//! Found tools that are called through one that is offered from the start.

use std::sync::Arc;

use super::{approvals::next_request, tool_search::many, *};
use crate::{
    Caller, RunInput,
    approval::Decision,
    journal::MemoryJournal,
    observe::{Observer, PrefixChange, PrefixPart, TurnRecord},
    search::{FoundTools, ToolSearch},
    tools::{CALL_FOUND_TOOL, TOOL_SEARCH, ToolEffects},
};
use forgeline_llm::{Request, TokenEstimator};
use forgeline_types::ToolCall;

#[derive(Deserialize, JsonSchema)]
struct Entry {
    /// The title of the entry.
    title: String,
}

fn search(query: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(TOOL_SEARCH, json!({ "query": query }))
}

/// The name and arguments of a call, made through the tool or directly.
fn made(through: bool, name: &str, arguments: &Value) -> (String, String) {
    if through {
        let arguments = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
        return (CALL_FOUND_TOOL.to_owned(), arguments);
    }
    (name.to_owned(), arguments.to_string())
}

fn turn(through: bool, calls: &[(&str, Value)]) -> ScriptedTurn {
    calls.iter().fold(ScriptedTurn::new(), |turn, (name, arguments)| {
        let (name, arguments) = made(through, name, arguments);
        turn.call(&name, arguments)
    })
}

fn names(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|spec| spec.name.as_str()).collect()
}

#[derive(Default)]
struct Changes(std::sync::Mutex<Vec<Option<PrefixChange>>>);

impl Observer for Changes {
    fn turn_ended(&self, record: &TurnRecord) {
        self.0.lock().unwrap().push(record.prefix_change);
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_of_tools_stays_as_it_is_and_the_result_describes_what_was_found() {
    for found in [FoundTools::Called, FoundTools::Offered] {
        let through = found == FoundTools::Called;
        let title = json!({ "title": "Rehearsal" });
        let provider = ScriptedProvider::new([
            search("create a calendar entry in department 7"),
            turn(through, &[("calendar.n7_create", title)]),
            ScriptedTurn::new().text("Done."),
        ]);
        let changes = Arc::new(Changes::default());
        let builder = Agent::builder(provider.clone()).tools(many(0..1_000));
        let builder = builder.tool_search(ToolSearch::default().found(found));
        let agent = builder.observer(Arc::clone(&changes)).build().unwrap().conversation();
        assert_eq!(agent.run("Plan the rehearsal.").await.unwrap().text, "Done.");
        let requests = provider.requests();
        let told = requests[1].messages.last().unwrap().tool_results().next().unwrap().clone();
        let changes = changes.0.lock().unwrap();
        if through {
            assert!(TokenEstimator::new().request(&requests[0]) <= 300);
            for request in &requests {
                assert_eq!(names(request), [TOOL_SEARCH, CALL_FOUND_TOOL]);
                assert!(Arc::ptr_eq(&request.tools, &requests[0].tools));
            }
            assert!(told.content.starts_with("5 tools found. Call them with `call_found_tool`:\n"));
            let described = r#"{"name":"calendar.n7_create","description":"Use this to create"#;
            assert!(told.content.contains(described), "{}", told.content);
            assert!(told.content.contains(r#""title":{"#), "with its schema: {}", told.content);
            assert_eq!(**changes, [None, None, None]);
        } else {
            assert_eq!(names(&requests[1]).len(), 6);
            let change = changes[1].expect("the list has changed");
            assert_eq!((change.part, change.offset), (PrefixPart::Tools, 1));
            assert_eq!((changes[0], changes[2]), (None, None));
        }
        // What goes back is the call that the model made; what is kept is that of the tool.
        let sent: Vec<ToolCall> =
            requests[2].messages.iter().flat_map(|it| it.tool_calls()).cloned().collect();
        let (name, arguments) =
            made(through, "calendar.n7_create", &json!({ "title": "Rehearsal" }));
        assert_eq!((sent[1].name.as_str(), &sent[1].arguments_raw), (name.as_str(), &arguments));
        assert_eq!(sent[1].arguments.as_ref().unwrap().as_str(), arguments);
        let result = requests[2].messages.last().unwrap().tool_results().next().unwrap().clone();
        assert_eq!((result.name.as_str(), result.call_id), (name.as_str(), sent[1].id.clone()));
        let transcript = agent.transcript();
        let kept = transcript.messages()[3].tool_calls().next().unwrap();
        assert_eq!((kept.name.as_str(), kept.indirect), ("calendar.n7_create", through));
        let result = transcript.messages()[4].tool_results().next().unwrap();
        assert_eq!(result.name, "calendar.n7_create");
        assert_eq!(result.content, "calendar.n7_create did it: Rehearsal");
    }
}

/// The name comes last, so the call is known as that of the tool only at its end.
#[tokio::test(start_paused = true)]
async fn a_call_whose_name_comes_last_is_kept_as_that_of_the_tool() {
    let arguments = r#"{"arguments":{"title":"Rehearsal"},"name":"calendar.n7_create"}"#;
    let provider = ScriptedProvider::new([
        search("create a calendar entry in department 7"),
        ScriptedTurn::new().call(CALL_FOUND_TOOL, arguments),
        ScriptedTurn::new().text("Done."),
    ]);
    let builder = Agent::builder(provider).tools(many(0..1_000));
    let builder = builder.tool_search(ToolSearch::default().found(FoundTools::Called));
    let agent = builder.build().unwrap().conversation();
    assert_eq!(agent.run("Plan the rehearsal.").await.unwrap().text, "Done.");
    let transcript = agent.transcript();
    let kept = transcript.messages()[3].tool_calls().next().unwrap();
    assert_eq!((kept.name.as_str(), kept.indirect), ("calendar.n7_create", true));
    assert_eq!(kept.arguments_raw, r#"{"title":"Rehearsal"}"#);
}

/// A tool with each kind of gate, among many.
fn gated(provider: &ScriptedProvider, found: FoundTools) -> AgentBuilder {
    let say = |_: ToolContext, it: Entry| std::future::ready(format!("said {}", it.title));
    let fails = |_: ToolContext, it: Entry| {
        std::future::ready(Err::<String, _>(ToolError::failed(format!("no {}", it.title))))
    };
    Agent::builder(provider.clone())
        .tools(many(0..100))
        .tool(tool_fn("own.say", "Says it.", say))
        .tool(tool_fn("own.fail", "Fails.", fails))
        .tool(tool_fn("own.remove", "Removes it.", say).effects(ToolEffects::Irreversible))
        .tool(tool_fn("own.secret", "Is secret.", say).permission("secrets"))
        .tool_search(ToolSearch::default().share(0).found(found))
}

/// The events of a run without what differs from run to run.
fn plain(events: &[Envelope]) -> Vec<Value> {
    let mut plain: Vec<Value> = Vec::new();
    for envelope in events {
        let mut event = serde_json::to_value(&envelope.event).unwrap();
        for key in ["duration_ms", "first_token_ms", "approval_id", "content"] {
            let is_result = event["type"] != "tool_call_content" && key == "content";
            if !is_result && let Some(members) = event.as_object_mut() {
                members.remove(key);
            }
        }
        if let Some(last) = plain.last_mut()
            && last["type"] == "tool_call_content"
            && event["type"] == "tool_call_content"
            && last["index"] == event["index"]
        {
            let joined = [&last["arguments"], &event["arguments"]].map(|it| it.as_str().unwrap());
            last["arguments"] = json!(joined.concat());
            continue;
        }
        plain.push(event);
    }
    plain
}

/// Runs a turn with these calls, made in one way, and one after it; a person decides about what is asked.
async fn run(
    through: bool,
    calls: &[(&str, Value)],
    decision: &Decision,
) -> (Vec<Value>, Vec<Value>) {
    let found = if through { FoundTools::Called } else { FoundTools::Offered };
    let provider = ScriptedProvider::new([turn(through, calls), ScriptedTurn::new().text("Done.")]);
    let agent = gated(&provider, found).build().unwrap().conversation();
    let mut stream = agent.run_stream(RunInput::from("Go.").caller(Caller::new("ann")));
    let (approvals, mut events) = (stream.approvals(), Vec::new());
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = &envelope.event {
            approvals.answer(&request.approval_id, decision.clone()).unwrap();
        }
        events.push(envelope);
    }
    assert_whole(&events);
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
    // What is kept differs in nothing but the mark.
    let transcript = serde_json::to_string(&agent.transcript()).unwrap();
    assert_eq!(transcript.contains(r#""indirect":true"#), through);
    let kept = transcript.replace(r#","indirect":true"#, "");
    (plain(&events), serde_json::from_str(&kept).unwrap())
}

/// A name, the calls of an answer, and what a person decides about them.
type Row = (&'static str, Vec<(&'static str, Value)>, Decision);

#[tokio::test(start_paused = true)]
async fn a_call_through_the_tool_is_in_all_things_as_a_direct_one() {
    let title = || json!({ "title": "it" });
    let rows: [Row; 8] = [
        ("runs", vec![("own.say", title())], Decision::Grant),
        ("fails", vec![("own.fail", title())], Decision::Grant),
        ("is granted", vec![("own.remove", title())], Decision::Grant),
        ("is rejected", vec![("own.remove", title())], Decision::reject("no")),
        (
            "is changed",
            vec![("own.remove", title())],
            Decision::GrantChanged { arguments: json!({ "title": "other" }).into() },
        ),
        ("is denied", vec![("own.secret", title())], Decision::Grant),
        ("has bad arguments", vec![("own.say", json!({ "title": 1 }))], Decision::Grant),
        (
            "side by side",
            vec![
                ("own.say", title()),
                ("own.remove", title()),
                ("own.nothing", title()),
                ("own_say", json!({ "title": "again" })),
                ("tool_search", json!({ "query": "own.say" })),
            ],
            Decision::Grant,
        ),
    ];
    for (name, calls, decision) in rows {
        let (direct, through) =
            (run(false, &calls, &decision).await, run(true, &calls, &decision).await);
        // The answers to an unknown name and to a search differ by design.
        let same = |it: &Value| {
            it.to_string().contains("tools found") || it.to_string().contains("tool found")
        };
        for (one, other) in direct.0.iter().zip(&through.0) {
            assert!(one == other || same(one), "{name}: {one}\n{other}");
        }
        assert_eq!(direct.0.len(), through.0.len(), "{name}");
        for (one, other) in direct.1.iter().zip(&through.1) {
            assert!(one == other || same(one), "{name}: {one}\n{other}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_tool_that_names_none_says_how_it_is_called() {
    let turns =
        ["{}", r#"{"tool":"own.say"}"#, r#"{"name":"","arguments":{}}"#, "[]", r#"{"name":"#];
    let provider = ScriptedProvider::new(
        turns.map(|it| ScriptedTurn::new().call(CALL_FOUND_TOOL, it)).into_iter().chain([
            turn(true, &[(CALL_FOUND_TOOL, json!({ "name": "own.say", "arguments": {} }))]),
            ScriptedTurn::new().text("Done."),
        ]),
    );
    let agent =
        gated(&provider, FoundTools::Called).breaker_failures(9).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let transcript = agent.transcript();
    let results: Vec<_> = transcript.iter().flat_map(|it| it.tool_results()).collect();
    for (at, want) in [
        (0, "This call does not name a tool. Call `call_found_tool` with"),
        (1, "This call does not name a tool. Call `call_found_tool` with"),
        (2, "This call does not name a tool. Call `call_found_tool` with"),
        (3, "This call could not be read"),
        (4, "This call could not be read"),
        (5, "The arguments are not valid: `title` is missing."),
    ] {
        assert!(results[at].is_error && results[at].content.starts_with(want), "{:?}", results[at]);
    }
    let own = tool_fn(CALL_FOUND_TOOL, "Mine.", async |_: ToolContext, (): ()| ());
    let error = Agent::builder(provider).tool(own).build().unwrap_err().to_string();
    assert!(error.contains(CALL_FOUND_TOOL) && error.contains("reserved"), "{error}");
}

/// A server without the parser of its model leaves the call in the text.
#[tokio::test(start_paused = true)]
async fn a_call_that_a_server_leaves_in_the_text_is_that_of_the_tool_too() {
    let call = r#"<tool_call>{"name":"call_found_tool","arguments":{"name":"own.say","arguments":{"title":"it"}}}</tool_call>"#;
    let provider =
        ScriptedProvider::new([ScriptedTurn::new().text(call), ScriptedTurn::new().text("Done.")]);
    let info = forgeline_llm::Provider::info(&provider).clone();
    let mut info = info.text_calls(true);
    info.model = "qwen3-8b".into();
    let provider = provider.info_of(info);
    let agent = gated(&provider, FoundTools::Called).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let mut events = Vec::new();
    to_the_end(&mut stream, &mut events).await;
    assert!(kinds(&events).contains(&"result said it".to_owned()), "{:?}", kinds(&events));
    let sent = &provider.requests()[1];
    assert_eq!(sent.messages.messages()[1].tool_calls().next().unwrap().name, CALL_FOUND_TOOL);
    let transcript = agent.transcript();
    let kept = transcript.messages()[1].tool_calls().next().unwrap();
    assert_eq!((kept.name.as_str(), kept.indirect), ("own.say", true));
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_is_taken_up_again_is_of_the_tool_that_is_called() {
    let journal = MemoryJournal::default();
    let call = || turn(true, &[("own.remove", json!({ "title": "it" }))]);
    let provider = ScriptedProvider::new([call()]);
    let agent = gated(&provider, FoundTools::Called)
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal.clone());
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let request = next_request(&mut stream, &mut events).await;
    assert_eq!(request.tool_name, "own.remove");
    assert_eq!(request.arguments.as_str(), r#"{"title":"it"}"#);
    drop(stream);
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]);
    let kept = MemoryJournal::from(journal.lines());
    let agent = gated(&provider, FoundTools::Called);
    let agent = agent
        .approver(|_: crate::approval::ApprovalContext| async { Decision::Grant })
        .build()
        .unwrap()
        .conversation()
        .with_journal(kept);
    assert_eq!(agent.resume().await.unwrap().unwrap().text, "Done.");
    let sent = &provider.requests()[0].messages;
    let call = sent.messages()[1].tool_calls().next().unwrap();
    let want = r#"{"name":"own.remove","arguments":{"title":"it"}}"#;
    assert_eq!((call.name.as_str(), call.arguments_raw.as_str()), (CALL_FOUND_TOOL, want));
    let result = sent.messages()[2].tool_results().next().unwrap();
    assert_eq!((result.name.as_str(), result.content.as_str()), (CALL_FOUND_TOOL, "said it"));
}

/// A result lists as many tools as fit.
#[tokio::test(start_paused = true)]
async fn a_search_tells_as_many_tools_as_there_is_room_for() {
    let provider = ScriptedProvider::new([search("entry"), ScriptedTurn::new().text("Done.")]);
    let builder = Agent::builder(provider.clone()).tools(many(0..1_000));
    builder.max_result_chars(900).build().unwrap().conversation().run("Go.").await.unwrap();
    let requests = provider.requests();
    let told = requests[1].messages.last().unwrap().tool_results().next().unwrap().clone();
    assert!((1..5).contains(&told.found.len()), "{}", told.content);
    assert_eq!(told.content.lines().filter(|line| line.starts_with('{')).count(), told.found.len());
}

/// A part of the prompt that has notes on tools.
struct Notes(&'static str);

impl crate::prompts::SystemPrompt for Notes {
    fn build(
        &self,
        context: crate::prompts::PromptContext,
    ) -> futures_core::future::BoxFuture<'static, Result<String, forgeline_types::AgentError>> {
        let names: Vec<_> = context.tool_names().map(str::to_owned).collect();
        Box::pin(std::future::ready(Ok(format!("Notes on {}.", names.join(", ")))))
    }

    fn on_found(
        &self,
        names: &[forgeline_types::Text],
    ) -> Option<futures_core::future::BoxFuture<'static, Result<String, forgeline_types::AgentError>>>
    {
        let (what, names) = (self.0, names.join(", "));
        Some(Box::pin(async move {
            match what {
                "fails" => Err(forgeline_types::AgentError::new(
                    forgeline_types::ErrorCode::Internal,
                    "no",
                )),
                "hangs" => std::future::pending().await,
                "is empty" => Ok(String::new()),
                _ => Ok(format!("More on {names}.")),
            }
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_prompt_says_of_a_tool_comes_with_the_search_that_finds_it() {
    use crate::{config::CallMode, prompts::IsolatedPrompt};
    for mode in [CallMode::Native, CallMode::Text] {
        for what in ["says it", "fails", "hangs", "is empty"] {
            let query = json!({ "query": "calendar.n7_create" });
            let search = match mode {
                CallMode::Text => ScriptedTurn::new().text(format!(
                    r#"<tool>{{"tool_name":"tool_search","arguments":{query}}}</tool>"#
                )),
                _ => ScriptedTurn::new().call(TOOL_SEARCH, query),
            };
            let provider = ScriptedProvider::new([search, ScriptedTurn::new().text("Done.")]);
            let builder = Agent::builder(provider.clone()).tools(many(0..1_000));
            let builder = builder.tool_search(ToolSearch::default().most(2)).call_mode(mode);
            let agent =
                builder.system(IsolatedPrompt::new(Notes(what))).build().unwrap().conversation();
            agent.run("Go.").await.unwrap();
            let requests = provider.requests();
            assert_eq!(requests[0].system, requests[1].system, "{what}");
            let read = serde_json::to_string(&requests[1].messages).unwrap();
            let note = "More on calendar.n7_create, ";
            assert_eq!(read.contains(note), what == "says it", "{what}: {read}");
            assert_eq!(agent.transcript().iter().flat_map(|it| it.tool_results()).count(), 1);
        }
    }
}
