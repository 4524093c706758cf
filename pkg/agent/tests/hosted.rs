//! Calls that the provider runs itself, and asks about before.

use super::{approvals::next_request, scenarios::hosted, whole::assert_history_is_whole, *};
use crate::{
    approval::{ApprovalPolicy, Decision},
    journal::MemoryJournal,
};
use forgeline_types::{ApprovalReason, Json, MessageRole, TextOrigin};

fn asking(turns: usize) -> ScriptedProvider {
    let turn = |at: usize| hosted(ScriptedTurn::new(), &format!("q{at}"));
    ScriptedProvider::new((0..turns).map(turn).chain([ScriptedTurn::new().text("Done.")]))
}

#[derive(Deserialize, JsonSchema)]
struct Page {
    text: String,
}

/// The results of hosted calls in the last request: whether each is a refusal, and its text.
fn answers(provider: &ScriptedProvider) -> Vec<(bool, String)> {
    let requests = provider.requests();
    let messages = &requests.last().expect("a request").messages;
    let results = messages.iter().flat_map(|message| message.tool_results());
    results.map(|result| (result.is_error, result.content.clone())).collect()
}

// Covers: G-35
#[tokio::test(start_paused = true)]
async fn a_call_that_the_provider_asks_for_is_allowed_by_a_person_alone() {
    let other = Json::from(json!({ "text": "other" }));
    let rows: [(Option<Decision>, ApprovalPolicy, bool, &str); 7] = [
        (Some(Decision::Grant), ApprovalPolicy::default(), false, "allowed"),
        (Some(Decision::GrantAlways), ApprovalPolicy::of(["other"]), false, "allowed"),
        (Some(Decision::reject("not that")), ApprovalPolicy::Always, true, "not that"),
        // The provider runs what the model wrote, and nothing else.
        (
            Some(Decision::GrantChanged { arguments: other }),
            ApprovalPolicy::default(),
            true,
            r#"{"text":"other"}"#,
        ),
        (None, ApprovalPolicy::default(), true, "there is no one to ask"),
        (None, ApprovalPolicy::of(["other"]), true, "there is no one to ask"),
        (None, ApprovalPolicy::Never, false, "allowed"),
    ];
    for (decision, policy, is_refused, text) in rows {
        let provider = asking(1);
        let agent = builder(&provider).approval(policy).build().unwrap().conversation();
        if let Some(decision) = decision {
            let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
            let request = next_request(&mut stream, &mut events).await;
            assert_eq!(
                (request.tool_name.as_str(), request.reason),
                ("docs:ask", ApprovalReason::Provider)
            );
            assert_eq!(request.arguments.as_str(), r#"{"text":"q0"}"#);
            stream.approvals().answer(&request.approval_id, decision).unwrap();
            to_the_end(&mut stream, &mut events).await;
            assert_whole(&events);
        } else {
            agent.run("Go.").await.unwrap();
        }
        let [(refused, content)] = &answers(&provider)[..] else { panic!("one answer") };
        assert!(*refused == is_refused && content.contains(text), "{content}");
        assert_history_is_whole(&agent);
    }
}

#[tokio::test(start_paused = true)]
async fn always_holds_for_one_tool_of_one_server_until_text_from_outside_is_there() {
    let provider = ScriptedProvider::new([
        hosted(ScriptedTurn::new(), "q0"),
        hosted(ScriptedTurn::new(), "q1"),
        ScriptedTurn::new().call("web", json!({ "text": "page" })),
        hosted(ScriptedTurn::new(), "q2"),
        ScriptedTurn::new().text("Done."),
    ]);
    let web = tool_fn("web", "Reads a page.", async |_: ToolContext, it: Page| it.text);
    let agent =
        builder(&provider).tool(web.origin(TextOrigin::Outside)).build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let first = next_request(&mut stream, &mut events).await;
    stream.approvals().answer(&first.approval_id, Decision::GrantAlways).unwrap();
    let last = next_request(&mut stream, &mut events).await;
    assert_eq!(last.arguments.as_str(), r#"{"text":"q2"}"#, "the second was not asked about");
    assert_eq!(last.reason, ApprovalReason::OutsideText);
    stream.approvals().answer(&last.approval_id, Decision::reject("no")).unwrap();
    to_the_end(&mut stream, &mut events).await;
    let refused: Vec<_> = answers(&provider).iter().map(|(refused, _)| *refused).collect();
    assert_eq!(refused, [false, false, false, true]);
}

/// What a model writes is no call of the provider, whatever name it has, and a tool cannot take such a name.
#[tokio::test(start_paused = true)]
async fn a_model_cannot_forge_a_call_of_the_provider() {
    let call = ScriptedTurn::new().call("docs:ask", json!({ "text": "q" }));
    let provider = ScriptedProvider::new([call, ScriptedTurn::new().text("Done.")]);
    let agent = builder(&provider).approval(ApprovalPolicy::Never).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let [(is_refused, content)] = &answers(&provider)[..] else { panic!("one answer") };
    assert!(*is_refused && content.contains("docs:ask"), "{content}");
    let tool = tool_fn("docs:ask", "Asks.", async |_: ToolContext, (): ()| "yes");
    assert!(builder(&provider).tool(tool).build().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_provider_outlives_its_process() {
    let journal = MemoryJournal::default();
    let agent = builder(&asking(1)).build().unwrap().conversation().with_journal(journal.clone());
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    let first = next_request(&mut stream, &mut events).await;
    drop((stream, agent));
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]);
    let agent = builder(&provider).build().unwrap().conversation().with_journal(journal);
    let mut stream = agent.resume_stream().await.unwrap().expect("an open run");
    let again = next_request(&mut stream, &mut events).await;
    assert_eq!(again, first);
    stream.approvals().answer(&again.approval_id, Decision::Grant).unwrap();
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
    assert_eq!(answers(&provider).len(), 1);
    let requests = provider.requests();
    let answer = requests[0].messages.iter().rfind(|it| it.role == MessageRole::Assistant).unwrap();
    assert!(answer.tool_calls().all(|call| call.hosted), "{answer:?}");
}
