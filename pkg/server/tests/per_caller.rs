//! Agents that are made for their callers.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    recovered::{dies, lives, whole},
    *,
};
use forgeline_agent::Agent;
use forgeline_llm::RequestOwner;
use forgeline_store::Stores;
use forgeline_types::{AgentError, ErrorCode};

fn tokens() -> Tokens {
    let caller = |name: &str, scope: &str| Caller::new(name).scope(scope);
    Tokens::new()
        .token("ann", caller("ann", "team-a").permission("x"))
        .token("bob", caller("bob", "team-a"))
        .token("eve", caller("eve", "team-e"))
}

/// A model that answers with its instructions and the owner of the request.
fn model() -> ScriptedProvider {
    ScriptedProvider::from_fn(|asked: &Asked| {
        let owner = asked.owner.as_ref().map_or("nobody", RequestOwner::id);
        ScriptedTurn::new().text(format!("{} For {owner}.", asked.system.as_deref().unwrap_or("")))
    })
}

/// A service whose agent has a prompt and a tool of its caller, and the callers for whom it was made.
fn made(stores: &Stores) -> (Service, Router, Arc<Mutex<Vec<Caller>>>) {
    made_with(stores, model())
}

fn made_with(
    stores: &Stores,
    model: ScriptedProvider,
) -> (Service, Router, Arc<Mutex<Vec<Caller>>>) {
    let made = Arc::<Mutex<Vec<Caller>>>::default();
    let noted = Arc::clone(&made);
    let builder = Service::builder().agent_for("main", move |caller: Caller| {
        noted.lock().unwrap().push(caller.clone());
        let model = model.clone();
        async move {
            let scope = caller.scope.unwrap_or_default();
            let tool =
                tool_fn(format!("look.{}", caller.id), "", |_: ToolContext, _: Value| async { "" });
            let prompt = format!("Prompt of {scope}.");
            Agent::builder(model).system(prompt).tool(tool).build()
        }
    });
    let service = builder.identify(tokens()).stores(stores.clone()).build().unwrap();
    (service.clone(), router(service), made)
}

async fn answer(app: &Router, token: &str, body: &Value) -> String {
    let run = begin(app, token, body).await;
    text(get(app, &format!("{run}/events"), token).await).await
}

#[tokio::test]
async fn each_run_has_the_agent_of_its_caller() {
    let (_, app, made) = made(&Stores::in_memory());
    let ask = json!({ "input": "Hi", "conversation_id": "c" });
    let own = json!({ "input": "Hi" });
    let ((ann, eve), bob) = tokio::join!(
        async { tokio::join!(answer(&app, "ann", &ask), answer(&app, "eve", &ask)) },
        answer(&app, "bob", &own),
    );
    assert!(ann.contains("Prompt of team-a. For ann."), "{ann}");
    assert!(eve.contains("Prompt of team-e. For eve."), "{eve}");
    assert!(bob.contains("Prompt of team-a. For bob."), "{bob}");
    let mut callers: Vec<_> = made.lock().unwrap().iter().map(|it| it.id.to_string()).collect();
    callers.sort();
    assert_eq!(callers, ["ann", "bob", "eve"], "once a run");
    let (_, tools) = value(get(&app, "/v1/tools", "eve").await).await;
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["look.eve"]);
    let (_, agents) = value(get(&app, "/v1/agents", "ann").await).await;
    assert_eq!(agents["agents"][0]["name"], "main");
}

#[tokio::test]
async fn the_next_run_of_a_conversation_has_the_agent_of_now_and_all_messages() {
    let plan = Arc::new(AtomicUsize::new(1));
    let (now, requests) = (Arc::clone(&plan), model());
    let seen = requests.clone();
    let builder = Service::builder().agent_for("main", move |_: Caller| {
        let (plan, model) = (now.load(Ordering::SeqCst), requests.clone());
        async move { Agent::builder(model).system(format!("Plan {plan}.")).build() }
    });
    let app = router(builder.identify(tokens()).build().unwrap());
    let ask = json!({ "input": "Hi", "conversation_id": "c" });
    assert!(answer(&app, "ann", &ask).await.contains("Plan 1. For ann."));
    plan.store(2, Ordering::SeqCst);
    assert!(answer(&app, "ann", &ask).await.contains("Plan 2. For ann."));
    let last = seen.requests().pop().unwrap();
    let said: Vec<_> = last.messages.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["Hi", "Plan 1. For ann.", "Hi"]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_be_made_is_a_problem_that_says_what_to_do() {
    let refused = |_: Caller| async {
        let status = StatusCode::FORBIDDEN;
        Err::<Agent, _>(Problem::new(status, "no_plan", "choose a plan first"))
    };
    let fails = |_: Caller| async {
        Err::<Agent, _>(AgentError::new(ErrorCode::Internal, "sk-planted: no such tenant"))
    };
    let hangs = |_: Caller| pending::<Result<Agent, AgentError>>();
    let panics = |caller: Caller| async move {
        assert!(caller.id.is_empty(), "no tenant");
        Err::<Agent, _>(AgentError::new(ErrorCode::Internal, "no tenant"))
    };
    let builder = Service::builder()
        .agent("main", chatty())
        .agent_for("refused", refused)
        .agent_for("fails", fails)
        .agent_for("hangs", hangs)
        .agent_for("panics", panics);
    let (service, stores) = (builder.identify(tokens()), Stores::in_memory());
    let app = router(service.stores(stores.clone()).build().unwrap());
    #[rustfmt::skip]
    let rows = [
        ("refused", 403, "no_plan",        "choose a plan first"),
        ("fails",   500, "agent_not_made", "ask the operator of the service"),
        ("panics",  500, "agent_not_made", "ask the operator of the service"),
        ("hangs",   503, "busy",           "could not be made within 10s; try again later"),
    ];
    for (agent, status, code, said) in rows {
        let body = json!({ "input": "Hi", "agent": agent, "conversation_id": agent });
        let (got, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
        assert_eq!((got, &problem["code"]), (status, &json!(code)), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said) && !detail.contains("tenant"), "{problem}");
        let chat = json!({ "id": agent, "messages": [{ "role": "user", "content": "Go." }] });
        let path = format!("/api/chat?agent={agent}");
        assert_eq!(post(&app, &path, "ann", &chat).await.status(), status, "{agent}");
    }
    let (_, listed) = value(get(&app, "/v1/conversations", "ann").await).await;
    assert_eq!(listed["conversations"], json!([]), "nothing has begun");
    let (_, agents) = value(get(&app, "/v1/agents", "ann").await).await;
    let names: Vec<_> = agents["agents"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["main"]);
}

#[tokio::test]
async fn no_agent_is_made_for_the_run_or_conversation_of_another() {
    let (_, app, made) = made(&Stores::in_memory());
    let ask = json!({ "input": "Hi", "conversation_id": "c" });
    let run = begin(&app, "ann", &ask).await;
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    for token in ["bob", "eve"] {
        assert_eq!(get(&app, &run, token).await.status(), 404, "{token}");
        assert_eq!(post(&app, &format!("{run}/cancel"), token, &json!({})).await.status(), 404);
    }
    assert_eq!(post(&app, "/v1/runs", "bob", &ask).await.status(), 404);
    assert_eq!(get(&app, "/v1/conversations/c", "bob").await.status(), 404);
    assert_eq!(made.lock().unwrap().len(), 1);
}

#[test]
fn a_run_is_resumed_with_the_agent_of_its_owner() {
    let stores = Stores::in_memory();
    let run = dies(async {
        let hangs = ScriptedProvider::new([ScriptedTurn::new().text("So").hang()]);
        let (_, app, _) = made_with(&stores, hangs);
        let run = begin(&app, "ann", &json!({ "input": "Hi", "conversation_id": "c" })).await;
        until(&app, &run, "message_content").await;
        run
    });
    lives(async {
        let (service, app, made) = made(&stores);
        let recovered = service.recover().await.unwrap();
        assert_eq!((recovered.resumed, recovered.interrupted), (1, 0));
        let reported = whole(&app, &run).await;
        assert_eq!(reported.last().unwrap()["status"], "completed");
        let made = made.lock().unwrap().clone();
        assert_eq!(made, [Caller::new("ann").scope("team-a").permission("x")]);
        let said: Vec<_> = reported.iter().filter_map(|event| event["content"].as_str()).collect();
        assert!(said.concat().contains("For ann."), "{said:?}");
    });
}

#[test]
fn a_run_whose_agent_cannot_be_made_again_is_interrupted_and_keeps_its_message() {
    let stores = Stores::in_memory();
    let run = dies(async {
        let (_, app) = recovered::over(&stores, scripted([ScriptedTurn::new().text("So").hang()]));
        let run = begin(&app, "ann", &json!({ "input": "Hi", "conversation_id": "c" })).await;
        until(&app, &run, "message_content").await;
        run
    });
    lives(async {
        let fails = |_: Caller| async {
            Err::<Agent, _>(Problem::new(StatusCode::FORBIDDEN, "no_plan", "choose a plan first"))
        };
        let builder = Service::builder().agent_for("main", fails).identify(tokens());
        let service = builder.stores(stores.clone()).build().unwrap();
        let app = router(service.clone());
        let recovered = service.recover().await.unwrap();
        assert_eq!((recovered.resumed, recovered.interrupted), (0, 1));
        let end = whole(&app, &run).await.pop().unwrap();
        assert_eq!(end["status"], "interrupted");
        assert!(end.to_string().contains("choose a plan first"), "{end}");
        let (_, page) = value(get(&app, "/v1/conversations/c", "ann").await).await;
        assert_eq!(page["page"]["messages"][0]["message"]["parts"][0]["text"], "Hi", "{page}");
    });
}
