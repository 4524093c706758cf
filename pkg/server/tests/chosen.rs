//! Choices of a request, and the place that it says it was written in.

use std::sync::{Arc, Mutex};

use super::*;
use forgeline_agent::{
    Agent,
    prompts::{ModulePrompts, PromptContext},
};
use forgeline_store::{ConversationQuery, Stores};
use forgeline_types::{Capabilities, ModelInfo};

/// A provider that answers with the name of its model.
fn model(name: &'static str) -> ScriptedProvider {
    let provider = ScriptedProvider::from_fn(move |_: &Asked| ScriptedTurn::new().text(name));
    provider.info_of(ModelInfo::new("scripted", name).capabilities(Capabilities::ALL))
}

// Covers: E-06
#[tokio::test]
async fn a_request_chooses_among_the_models_and_agents_that_the_host_allows() {
    let (small, large, cold) = (model("small"), model("large"), model("cold"));
    let main = Agent::builder(small.clone()).model("large", large.clone()).tool(Calculator);
    let main = main.request(Asked::default().temperature(0.9)).build().unwrap();
    let other = Agent::builder(cold.clone()).request(Asked::default().temperature(0.1));
    let stores = Stores::in_memory();
    let service = built(main).agent("cold", other.build().unwrap()).stores(stores.clone());
    let app = router(service.build().unwrap());
    let (_, agents) = value(get(&app, "/v1/agents", "ann").await).await;
    assert_eq!(agents["agents"][0]["models"], json!(["small", "large"]));
    assert_eq!(agents["agents"][1]["models"], json!(["cold"]));

    let answered = async |body: Value| {
        let run = begin(&app, "ann", &body).await;
        text(get(&app, &format!("{run}/events"), "ann").await).await
    };
    let said = |model: &str| format!("\"content\":\"{model}\"");
    let ask = |model: &str| json!({ "input": "Go.", "conversation_id": "c", "model": model });
    assert!(
        answered(json!({ "input": "Go.", "conversation_id": "c" })).await.contains(&said("small"))
    );
    assert!(answered(ask("large")).await.contains(&said("large")));
    assert!(answered(ask("small")).await.contains(&said("small")), "the agent's own, by its id");
    let told = &large.requests()[0].messages;
    let told: Vec<_> = told.iter().map(|message| message.text()).collect();
    assert_eq!(told, ["Go.", "small", "Go."], "another model goes on with the conversation");
    assert!(answered(json!({ "input": "Go.", "agent": "cold" })).await.contains(&said("cold")));
    let (main, cold) = (&small.requests()[0], &cold.requests()[0]);
    assert_eq!((main.temperature, cold.temperature), (Some(0.9), Some(0.1)));
    assert_eq!((main.tools.len(), cold.tools.len()), (1, 0));

    let refused = |model: &str| json!({ "input": "Go.", "model": model });
    let mut in_another = refused("large");
    in_another["agent"] = json!("cold");
    for (body, names) in [
        (refused("huge"), "choose one of `small`, `large`"),
        (refused(""), "choose one of `small`, `large`"),
        (ask("huge"), "choose one of `small`, `large`"),
        (in_another, "choose one of `cold`"),
    ] {
        let (status, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
        assert_eq!((status, &problem["code"]), (400, &json!("unknown_model")), "{body}");
        assert!(problem["detail"].as_str().unwrap().contains(names), "{problem}");
    }
    let all = stores.conversations.list(ConversationQuery::new("team-a", 9)).await.unwrap();
    assert_eq!(all.conversations.len(), 2, "what was refused has begun nothing");
}

#[tokio::test]
async fn chats_of_both_protocols_choose_a_model_by_their_address() {
    let agent = Agent::builder(model("small")).model("large", model("large"));
    let (_, app) = service(agent.build().unwrap());
    let said = json!([{ "id": "u1", "role": "user", "content": "Go." }]);
    let chat = json!({ "id": "c1", "messages": said });
    let ag_ui = json!({ "threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [], "messages": said });
    for (path, body) in [("/api/chat", &chat), ("/agui", &ag_ui)] {
        let frames = text(post(&app, &format!("{path}?model=large"), "ann", body).await).await;
        assert!(frames.contains("\"delta\":\"large\""), "{frames}");
        let refused = post(&app, &format!("{path}?model=huge"), "ann", body).await;
        assert_eq!(refused.status(), 400, "{path}");
    }
}

/// A part of the prompt that notes the values that its run brought along.
fn noting(
    names: [&'static str; 2],
) -> (impl forgeline_agent::prompts::SystemPrompt, Arc<Mutex<Vec<Value>>>) {
    let seen = Arc::<Mutex<Vec<Value>>>::default();
    let noted = Arc::clone(&seen);
    let part = move |context: PromptContext| {
        let values = names.map(|name| context.run.metadata(name).cloned().unwrap_or_default());
        noted.lock().unwrap().extend(values);
        async { Ok(String::new()) }
    };
    (part, seen)
}

// Covers: E-01
#[tokio::test]
async fn a_chat_takes_one_message_or_several_and_tells_its_project_and_folder() {
    let (part, seen) = noting(["projectId", "currentPath"]);
    let provider = model("small");
    let agent = Agent::builder(provider.clone()).system("Fixed.").system(part);
    let (_, app) = service(agent.build().unwrap());
    let place = json!({ "chatId": "c1", "projectId": "p-7", "currentPath": "src/main" });
    let with = |name: &str, said: Value| {
        let mut body = place.clone();
        body[name] = said;
        body
    };
    for body in [
        with("message", json!("One.")),
        with("messages", json!([{ "role": "user", "content": "Two." }])),
    ] {
        let response = post(&app, "/api/chat", "ann", &body).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["x-chat-id"]),
            (200, &"c1".parse().unwrap())
        );
        text(response).await;
    }
    assert_eq!(
        *seen.lock().unwrap(),
        [json!("p-7"), json!("src/main"), json!("p-7"), json!("src/main")]
    );
    let requests = provider.requests();
    let told: Vec<_> = requests[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(told, ["One.", "small", "Two."]);
    for request in requests {
        assert_eq!(request.system.as_deref(), Some("Fixed."), "they are for the host alone");
    }
}

#[tokio::test]
async fn what_a_request_tells_of_itself_is_kept_and_shown_and_chooses_no_text_but_the_hosts() {
    let stores = Stores::in_memory();
    let (part, seen) = noting(["ticket", "nothing"]);
    let provider = model("small");
    let agent = Agent::builder(provider.clone());
    let agent = agent.system(ModulePrompts::new().module("orders", "Of orders.")).system(part);
    let app = router(built(agent.build().unwrap()).stores(stores.clone()).build().unwrap());
    let about = json!({ "module": "orders", "page": "list", "model": "small", "metadata": { "ticket": ["planted", 7] } });
    let mut body = about.clone();
    body["input"] = json!("Go.");
    let run = begin(&app, "ann", &body).await;
    assert_eq!(value(get(&app, &run, "ann").await).await.1["request"], about);
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    let (_, ended) = value(get(&app, &run, "ann").await).await;
    assert_eq!((&ended["status"], &ended["request"]), (&json!("completed"), &about));
    let later = router(built(chatty()).stores(stores).build().unwrap());
    assert_eq!(
        value(get(&later, &run, "ann").await).await.1["request"],
        about,
        "in another process"
    );
    assert_eq!(*seen.lock().unwrap(), [json!(["planted", 7]), Value::Null]);
    assert_eq!(provider.requests()[0].system.as_deref(), Some("## Module: orders\n\nOf orders."));

    let plain = begin(&app, "ann", &json!({ "input": "Go." })).await;
    assert_eq!(value(get(&app, &plain, "ann").await).await.1["request"], Value::Null);
    for wrong in [
        json!({ "input": "Go.", "metadata": "a" }),
        json!({ "input": "Go.", "metadata": { "a": "b".repeat(crate::lifecycle::start::MAX_ABOUT_BYTES) } }),
        json!({ "input": "Go.", "module": "m".repeat(crate::lifecycle::start::MAX_ABOUT_BYTES) }),
        json!({ "input": "Go.", "page": 7 }),
    ] {
        let (status, problem) = value(post(&app, "/v1/runs", "ann", &wrong).await).await;
        assert_eq!(status, 400);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
}
