//! Arguments of another type than the schema asks for, through the front door.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Agent,
    approval::{ApprovalPolicy, Decision},
    tools::{ClientTool, Tool, ToolContext, ToolEffects, ToolError, ToolFuture, tool_fn},
};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
use forgeline_types::{AgentEvent, Envelope, Json, Repair, ToolCallEvent};

#[derive(Debug, Deserialize, JsonSchema)]
struct Shipment {
    crates: u16,
    #[serde(default)]
    fragile: bool,
    #[serde(default)]
    labels: Vec<String>,
}

/// A tool that is known by its schema only, as those of MCP servers are; it returns its arguments.
struct SchemaOnly;

impl Tool for SchemaOnly {
    fn name(&self) -> &'static str {
        "ship"
    }

    fn description(&self) -> &'static str {
        "Ships."
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "required": ["crates", "mode"],
            "properties": {
                "crates": { "type": "integer", "minimum": 0, "maximum": 65_535 },
                "mode": { "type": "string", "default": "sea" },
                "labels": { "type": "array", "items": { "type": "string" } },
            },
        })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::Irreversible
    }

    fn execute(&self, _: ToolContext, arguments: Json) -> ToolFuture {
        let is_late = arguments.as_str().contains("late");
        let result = if is_late {
            Err(ToolError::failed("too late"))
        } else {
            Ok(arguments.as_str().into())
        };
        Box::pin(std::future::ready(result))
    }
}

fn typed() -> impl Tool {
    tool_fn("ship", "Ships.", async |_: ToolContext, it: Shipment| {
        format!("{} {} {:?}", it.crates, it.fragile, it.labels)
    })
}

/// Returns the arguments of the calls as they ran, with their repairs.
fn run_arguments(events: &[Envelope]) -> Vec<(String, Vec<Repair>)> {
    let of_call = |envelope: &Envelope| match &envelope.event {
        AgentEvent::ToolCall(ToolCallEvent { arguments, repairs, .. }) => {
            Some((arguments.as_str().to_owned(), repairs.clone()))
        }
        _ => None,
    };
    events.iter().filter_map(of_call).collect()
}

// Rows: N-39
#[tokio::test(start_paused = true)]
async fn arguments_of_another_type_run_as_the_schema_asks_for_them_and_say_so() {
    let ship = |arguments: &str| ScriptedTurn::new().call("ship", arguments.to_owned());
    let written = [
        r#"{"crates":"12","labels":"[\"up\"]"}"#,
        r#"{"crates":12.0,"fragile":"true","labels":["up"]}"#,
        r#""{\"crates\": 12}""#,
        r#"{"crates":12}"#,
    ];
    let turns = || written.map(ship).into_iter().chain([ScriptedTurn::new().text("Done.")]);
    let typed = Agent::builder(ScriptedProvider::new(turns())).tool(typed());
    let schema = Agent::builder(ScriptedProvider::new(turns())).tool(SchemaOnly);
    let coerced = vec![Repair::Coerced];
    let wants = [
        [
            (r#"{"crates":12,"labels":["up"]}"#, &coerced),
            (r#"{"crates":12,"fragile":true,"labels":["up"]}"#, &coerced),
            (r#"{"crates":12}"#, &vec![]),
            (r#"{"crates":12}"#, &vec![]),
        ],
        [
            (r#"{"crates":12,"labels":["up"],"mode":"sea"}"#, &coerced),
            (r#"{"crates":12,"fragile":"true","labels":["up"],"mode":"sea"}"#, &coerced),
            (r#"{"crates":12,"mode":"sea"}"#, &coerced),
            (r#"{"crates":12,"mode":"sea"}"#, &coerced),
        ],
    ];
    for (builder, want) in [typed, schema].into_iter().zip(wants) {
        let agent = builder.approval(ApprovalPolicy::Never).build().unwrap().conversation();
        let (mut stream, mut events) = (agent.run_stream("Ship."), Vec::new());
        super::to_the_end(&mut stream, &mut events).await;
        let want = want.map(|(arguments, repairs)| (arguments.to_owned(), repairs.clone()));
        assert_eq!(run_arguments(&events), want);
        let outcome = stream.outcome().await.unwrap();
        let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
        assert!(results.iter().all(|result| !result.is_error), "{results:?}");
        let calls: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_calls()).collect();
        assert_eq!(calls[0].arguments_raw, written[0], "the model's words go back as they are");
        assert_eq!(calls[2].repairs, [Repair::StringArguments]);
    }
}

// Rows: N-39
#[tokio::test(start_paused = true)]
async fn what_a_person_sees_and_approves_is_what_runs() {
    let turns = [
        ScriptedTurn::new().call("ship", r#"{"crates":"3"}"#),
        ScriptedTurn::new().call("ship", r#"{"crates":"4"}"#),
        ScriptedTurn::new().text("Done."),
    ];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(SchemaOnly).build();
    let mut stream = agent.unwrap().run_stream("Ship.");
    let (mut events, mut shown) = (Vec::new(), Vec::new());
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = &envelope.event {
            shown.push(request.arguments.as_str().to_owned());
            let decision = if shown.len() == 1 {
                Decision::Grant
            } else {
                Decision::GrantChanged { arguments: json!({ "crates": "5", "mode": "air" }).into() }
            };
            stream.approvals().answer(&request.approval_id, decision).unwrap();
        }
        events.push(envelope);
    }
    let want = [r#"{"crates":3,"mode":"sea"}"#, r#"{"crates":4,"mode":"sea"}"#];
    assert_eq!(shown, want);
    let ran: Vec<_> = run_arguments(&events).into_iter().map(|(arguments, _)| arguments).collect();
    assert_eq!(ran, [want[0], r#"{"crates":5,"mode":"air"}"#]);
}

// Rows: N-39
#[tokio::test(start_paused = true)]
async fn a_call_of_the_client_gets_the_values_of_its_schema() {
    let turns =
        [ScriptedTurn::new().call("ship", r#"{"crates":"3"}"#), ScriptedTurn::new().text("Done.")];
    let tool = ClientTool::new("ship", "Ships.", SchemaOnly.schema());
    let agent =
        Agent::builder(ScriptedProvider::new(turns)).tool(tool).build().unwrap().conversation();
    let (mut stream, mut asked) = (agent.run_stream("Ship."), Vec::new());
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ClientToolRequest(request) = &envelope.event {
            asked.push(request.arguments.as_str().to_owned());
            stream.complete_client_call(&request.client_call_id, "shipped").unwrap();
        }
    }
    assert_eq!(asked, [r#"{"crates":3,"mode":"sea"}"#]);
}

// Rows: N-39
#[tokio::test(start_paused = true)]
async fn two_spellings_of_one_call_are_the_same_call() {
    let late = |crates: Value| {
        ScriptedTurn::new().call("ship", json!({ "crates": crates, "mode": "late" }))
    };
    let turns =
        [late(json!(3)), late(json!("3")), late(json!(3.0)), ScriptedTurn::new().text("No.")];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(SchemaOnly);
    let agent = agent.approval(ApprovalPolicy::Never).build().unwrap().conversation();
    let outcome = agent.run("Ship.").await.unwrap();
    let results: Vec<_> =
        outcome.messages.iter().flat_map(|it| it.tool_results()).map(|it| &it.content).collect();
    assert!(results[0].contains("too late"), "{results:?}");
    assert!(results[1..].iter().all(|text| text.contains("has just failed")), "{results:?}");
}

// Rows: N-39
#[tokio::test(start_paused = true)]
async fn a_complaint_names_the_argument_and_no_type_of_rust() {
    let written = [
        (json!({ "crates": -1 }), "`crates` must be at least 0"),
        (json!({ "crates": "-2" }), "`crates` must be at least 0"),
        (json!({ "crates": 70_000 }), "`crates` must be at most 65535"),
        (json!({ "crates": 1.5 }), "`crates` must be of type integer, not number"),
        (json!({ "crates": "many" }), "`crates` must be of type integer, not string"),
        (json!({ "crates": 1, "labels": "[1]" }), "`labels[0]` must be of type string, not number"),
    ];
    let turns = || {
        let calls = written.iter().map(|(it, _)| ScriptedTurn::new().call("ship", it.clone()));
        calls.chain([ScriptedTurn::new().text("No.")])
    };
    let builders = [
        Agent::builder(ScriptedProvider::new(turns())).tool(typed()),
        Agent::builder(ScriptedProvider::new(turns())).tool(SchemaOnly),
    ];
    for builder in builders {
        let builder = builder.approval(ApprovalPolicy::Never).breaker_failures(20);
        let outcome = builder.build().unwrap().conversation().run("Ship.").await.unwrap();
        let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
        assert_eq!(results.len(), written.len());
        for (result, (arguments, want)) in results.iter().zip(&written) {
            assert!(result.content.contains(want), "{arguments}: {}", result.content);
            assert!(!result.content.contains("u16"), "{}", result.content);
        }
    }
}

#[test]
fn the_events_of_calls_are_recorded_as_they_were() {
    // An event that was stored before calls were fitted has no repairs.
    let stored = r#"{"type":"tool_call","id":"c","tool_name":"ship","arguments":{"crates":1}}"#;
    let event: AgentEvent = serde_json::from_str(stored).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), stored);
}
