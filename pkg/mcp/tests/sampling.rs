//! Servers that ask a model.

use super::{
    asking::{agent, done, result, run},
    *,
};
use forgeline_agent::{
    approval::{ApprovalContext, Decision},
    run::Budget,
};
use forgeline_llm::{RequestOwner, StreamChunk, TokenEstimator};
use forgeline_types::{AgentEvent, UsageInfo};

/// A model that servers may ask, and the requests that it got.
fn sampling() -> (McpOptions, ScriptedProvider) {
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Blue.")]);
    (McpOptions::default().sampling(provider.clone(), 100), provider)
}

fn sample() -> Value {
    json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Which colour?" } }],
        "systemPrompt": "Be brief.",
        "maxTokens": 5_000,
    })
}

#[tokio::test]
async fn a_server_asks_a_model_only_when_a_person_allows_each_request() {
    for (decision, is_allowed) in [
        (Decision::Grant, true),
        (Decision::reject("no"), false),
        (Decision::grant_changed(json!({}).into()), false),
    ] {
        let (options, model) = sampling();
        let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let agent = agent(servers).approver(move |asked: ApprovalContext| {
            seen.lock().unwrap().push(asked.request);
            std::future::ready(decision.clone())
        });
        let server = async {
            scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
            let call = scripted.call().await;
            scripted.ask(7, "sampling/createMessage", sample()).await;
            let answer = scripted.read_line().await;
            if is_allowed {
                assert_eq!(answer["result"]["content"], json!({ "type": "text", "text": "Blue." }));
                assert_eq!(answer["result"]["stopReason"], "endTurn");
            } else {
                assert_eq!(answer["error"]["message"], "the user has not allowed it");
            }
            scripted.result(&call, done()).await;
            scripted
        };
        let (events, ..) = run(agent, [], server).await;
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        let [request] = &*asked else { panic!("{asked:?}") };
        assert_eq!(request.tool_name, "mcp.s.sampling");
        assert!(request.preview.as_ref().unwrap().text.contains("Which colour?"));
        let requests = model.requests();
        assert_eq!(requests.len(), usize::from(is_allowed));
        assert!(
            requests.iter().all(|request| request.max_tokens == Some(100)),
            "the bound is ours"
        );
        let owners = requests.iter().map(|request| request.owner.as_ref().map(RequestOwner::id));
        assert!(owners.into_iter().all(|owner| owner == Some("ann")), "the caller's own key");
        let granted = |event: &_| matches!(event, AgentEvent::ToolApprovalGranted(_));
        assert_eq!(events.iter().any(granted), is_allowed);
    }
    // Without anyone to ask it is refused, and so is one outside any call.
    let (options, model) = sampling();
    let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
    let agent = agent(servers).build().unwrap().conversation();
    let server = async {
        scripted.ask(6, "sampling/createMessage", sample()).await;
        assert_eq!(scripted.read_line().await["error"]["message"], "the user has not allowed it");
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        scripted.ask(7, "sampling/createMessage", sample()).await;
        assert_eq!(scripted.read_line().await["error"]["message"], "the user has not allowed it");
        scripted.result(&call, done()).await;
    };
    let (outcome, ()) = tokio::join!(
        async {
            tokio::task::yield_now().await;
            agent.run("Do it.").await
        },
        server
    );
    assert_eq!((result(&outcome.unwrap()), model.requests().len()), ("done", 0));
}

/// The answer to a request that the budget does not hold.
const TOO_SMALL: &str = "the budget of the run is spent, or too small for the request";

/// A model that says what it has used.
fn metered() -> (McpOptions, ScriptedProvider) {
    let mut usage = UsageInfo::default();
    (usage.input_tokens, usage.output_tokens) = (Some(70), Some(30));
    let turn = || ScriptedTurn::new().text("Blue.").usage(usage);
    let provider = ScriptedProvider::new([turn(), turn()]);
    (McpOptions::default().sampling(provider.clone(), 100), provider)
}

#[tokio::test]
async fn what_a_server_s_model_uses_counts_in_the_run_and_within_its_budget() {
    for (tokens, most) in [(None, 100), (Some(120), 20)] {
        let (options, model) = metered();
        let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
        let mut agent =
            agent(servers).approver(|_: ApprovalContext| std::future::ready(Decision::Grant));
        if let Some(tokens) = tokens {
            agent = agent.budget(Budget::default().tokens(tokens));
        }
        let server = async {
            scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
            let call = scripted.call().await;
            scripted.ask(7, "sampling/createMessage", sample()).await;
            assert!(scripted.read_line().await["result"].is_object());
            scripted.ask(8, "sampling/createMessage", sample()).await;
            let second = scripted.read_line().await;
            if tokens.is_some() {
                let granted = model.requests()[1].max_tokens.unwrap();
                assert!(granted <= most, "{granted}");
            }
            assert!(second["result"].is_object(), "{second}");
            scripted.result(&call, done()).await;
            scripted
        };
        let (_, outcome, _) = run(agent, [], server).await;
        assert_eq!(outcome.spent.tokens, 200);
        let requests = model.requests();
        assert_eq!(requests.len(), 2);
        let most = TokenEstimator::new().request(&requests[0])
            + u64::from(requests[0].max_tokens.unwrap());
        assert!(most <= tokens.unwrap_or(u64::MAX), "what is read is paid too: {most}");
    }
}

#[tokio::test]
async fn a_request_that_is_longer_than_what_is_left_is_not_sent_to_a_model() {
    let (options, model) = metered();
    let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
    let agent = agent(servers)
        .budget(Budget::default().tokens(300))
        .approver(|_: ApprovalContext| std::future::ready(Decision::Grant));
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        let mut request = sample();
        request["messages"][0]["content"]["text"] = "Which colour? ".repeat(500).into();
        scripted.ask(7, "sampling/createMessage", request).await;
        assert_eq!(scripted.read_line().await["error"]["message"], TOO_SMALL);
        scripted.result(&call, done()).await;
        scripted
    };
    let (_, outcome, _) = run(agent, [], server).await;
    assert_eq!((outcome.spent.tokens, model.requests().len()), (0, 0));
}

/// A model that is stopped in the middle has used what it read and wrote until then, also where its provider has reported
/// nothing yet.
#[tokio::test(start_paused = true)]
async fn a_request_to_a_model_that_is_cancelled_counts_in_the_run() {
    let mut usage = UsageInfo::default();
    (usage.input_tokens, usage.output_tokens) = (Some(70), Some(3));
    let begun = || ScriptedTurn::new().text("Blue, as far as I can see. ");
    let told = {
        let mut it = StreamChunk::default();
        it.usage = Some(usage);
        it
    };
    for (turn, want) in [(begun().chunk(told).hang(), 73..74), (begun().hang(), 10..40)] {
        let model = ScriptedProvider::new([turn]);
        let options = McpOptions::default().sampling(model.clone(), 100);
        let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
        let agent =
            agent(servers).approver(|_: ApprovalContext| std::future::ready(Decision::Grant));
        let agent = agent.build().unwrap().conversation();
        let mut stream = agent.run_stream("Do it.");
        let cancel = stream.cancel_token();
        let server = async {
            scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
            scripted.call().await;
            scripted.ask(7, "sampling/createMessage", sample()).await;
            while model.open_streams() == 0 {
                tokio::task::yield_now().await;
            }
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        let reader = async { while stream.next().await.is_some() {} };
        tokio::join!(reader, server);
        let failed = stream.outcome().await.unwrap_err();
        assert!(want.contains(&failed.outcome.spent.tokens), "{:?}", failed.outcome.spent);
        assert_eq!(model.open_streams(), 0);
    }
}

#[tokio::test]
async fn a_server_s_model_is_not_asked_when_the_budget_is_spent() {
    let (options, model) = metered();
    let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
    let agent = agent(servers)
        .budget(Budget::default().tokens(90))
        .approver(|_: ApprovalContext| std::future::ready(Decision::Grant));
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        for id in [7, 8] {
            scripted.ask(id, "sampling/createMessage", sample()).await;
            let answer = scripted.read_line().await;
            let refused = answer["error"]["message"] == TOO_SMALL;
            assert_eq!(refused, id == 8, "{answer}");
        }
        scripted.result(&call, done()).await;
        scripted
    };
    let (_, outcome, _) = run(agent, [], server).await;
    assert_eq!((outcome.spent.tokens, model.requests().len()), (100, 1));
}

#[tokio::test]
async fn a_picture_in_a_request_to_a_model_is_bytes_and_never_an_address() {
    let (options, model) = sampling();
    let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
    let agent = agent(servers).approver(|_: ApprovalContext| std::future::ready(Decision::Grant));
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        for data in ["http://10.0.0.1/x.png", "not base64!"] {
            let mut request = sample();
            let content = json!({ "type": "image", "data": data, "mimeType": "image/png" });
            request["messages"][0]["content"] = content;
            scripted.ask(7, "sampling/createMessage", request).await;
            let answer = scripted.read_line().await;
            let error = answer["error"]["message"].as_str().unwrap();
            assert_eq!(error, "a picture is not PNG, JPEG, GIF or WebP in base64");
        }
        scripted.result(&call, done()).await;
        scripted
    };
    let (events, ..) = run(agent, [], server).await;
    let is_asked = |event: &_| matches!(event, AgentEvent::ToolApprovalRequest { .. });
    assert!(!events.iter().any(is_asked) && model.requests().is_empty());
}

#[tokio::test]
async fn a_person_sees_who_said_what_and_the_pictures_of_a_request_to_a_model() {
    let (options, _) = metered();
    let (servers, mut scripted) = greeted_with(json!({ "command": "x" }), options).await;
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let agent = agent(servers).approver(move |asked: ApprovalContext| {
        seen.lock().unwrap().push(asked.request);
        std::future::ready(Decision::reject("no"))
    });
    let server = async {
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
        let call = scripted.call().await;
        let mut request = sample();
        request["messages"] = json!([
            { "role": "user", "content": { "type": "text", "text": "Which?" } },
            { "role": "assistant", "content": { "type": "text", "text": "I will obey." } },
            { "role": "user", "content": { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" } },
        ]);
        scripted.ask(7, "sampling/createMessage", request).await;
        scripted.read_line().await;
        scripted.result(&call, done()).await;
        scripted
    };
    run(agent, [], server).await;
    let asked = asked.lock().unwrap();
    let preview = &asked[0].preview.as_ref().unwrap().text;
    let want = "system: Be brief.\nuser: Which?\nassistant: I will obey.\nuser: [picture: image/png, 8 bytes]";
    assert!(preview.ends_with(want), "{preview}");
    assert!(preview.starts_with("The MCP server s asks the model"), "{preview}");
    let arguments = asked[0].arguments.to_value();
    assert_eq!(arguments["messages"][2], "user: [picture: image/png, 8 bytes]");
    assert_eq!(arguments["system"], "Be brief.");
}
