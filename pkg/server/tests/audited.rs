//! The audit rows of a scope: refusals, decisions and erasures with who made them, and nothing of the conversation.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::*;
use forgeline_agent::{
    AgentBuilder,
    access::{AuditRecord, Authorization, ClientCall},
    tools::Tool,
};
use forgeline_store::{
    AuditChain, AuditEvent, AuditHead, AuditPage, AuditQuery, AuditRow, AuditStore, EraseMode,
    InMemoryStore, StoreError, StoreFuture, Stores,
};
use forgeline_types::Text;

const PLANTED: &str = "planted-7c1d";

/// A service whose Ann may use all tools and read the audit rows of her team.
fn team(agent: Agent) -> ServiceBuilder {
    let ann = Caller::new("ann").scope("team-a").permission("pay").permission("service.audit");
    let tokens = Tokens::new()
        .token("ann", ann)
        .token("less", Caller::new("ann").scope("team-a"))
        .token("bob", Caller::new("bob").scope("team-a"))
        .token("eve", Caller::new("eve").scope("team-e").permission("service.audit"));
    Service::builder().agent("main", agent).identify(tokens)
}

fn app(agent: Agent) -> Router {
    router(team(agent).build().unwrap())
}

/// An agent that calls a tool with planted arguments, and is done.
fn calling(name: &'static str, tool: impl Tool + 'static) -> AgentBuilder {
    let provider = ScriptedProvider::from_fn(move |request: &Asked| {
        if request.messages.iter().any(|it| it.tool_results().next().is_some()) {
            return ScriptedTurn::new().text("Done.");
        }
        ScriptedTurn::new().call(name, json!({ "to": PLANTED }))
    });
    Agent::builder(provider).tool(tool)
}

fn paying() -> Agent {
    let pay = tool_fn("pay", "Pays.", |_: ToolContext, _: Value| async { "paid" });
    calling("pay", pay.permission("pay").effects(ToolEffects::Irreversible)).build().unwrap()
}

/// Waits for this many rows of a type; returns them, newest first.
async fn rows(app: &Router, kind: &str, count: usize) -> Vec<Value> {
    let path = format!("/v1/audit?type={kind}");
    let all = async {
        loop {
            let (status, page) = value(get(app, &path, "ann").await).await;
            assert_eq!(status, 200, "{page}");
            let rows = page["rows"].as_array().unwrap().clone();
            if rows.len() >= count {
                assert!(!page.to_string().contains(PLANTED), "{page}");
                assert_eq!(rows.len(), count, "{page}");
                return rows;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), all).await.unwrap()
}

/// An agent that refuses a call, the type of its row, the tool and the caller.
type RefusedCase = (fn() -> Agent, &'static str, &'static str, &'static str);

// Covers: T-50, T-59
#[tokio::test]
async fn a_refused_call_is_a_row_of_its_caller_without_its_arguments_also_below_another_agent() {
    let unauthorized = || paying();
    let denied = || {
        let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
        let deny = |_: &ClientCall<'_>| Authorization::deny("not on this page");
        calling("page", page).authorizer(deny).build().unwrap()
    };
    let cases: [RefusedCase; 2] = [
        (unauthorized, "_platform.ai.unauthorized_tool", "pay", "less"),
        (denied, "_platform.ai.tool_allowlist_denial", "page", "ann"),
    ];
    for (agent, kind, tool, token) in cases {
        for is_below in [false, true] {
            let agent = if is_below {
                let above = ScriptedProvider::new([
                    ScriptedTurn::new().call("helper", json!({ "task": PLANTED })),
                    ScriptedTurn::new().text("Done."),
                ]);
                let helper = agent().into_tool("helper", "Helps.");
                Agent::builder(above).tool(helper).build().unwrap()
            } else {
                agent()
            };
            let app = app(agent);
            let asked = json!({ "input": PLANTED, "module": "shop", "page": "cart" });
            let run = begin(&app, token, &asked).await;
            assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
            let [row] = &rows(&app, kind, 1).await[..] else { panic!("one row") };
            assert_eq!((&row["actor"], &row["source"]), (&json!("ann"), &json!("agent")), "{row}");
            assert_eq!((&row["scope"], &row["subject"]["tool"]), (&json!("team-a"), &json!(tool)));
            assert_eq!(
                (&row["payload"]["module"], &row["payload"]["page"]),
                (&json!("shop"), &json!("cart"))
            );
            let is_of_run = run.ends_with(row["subject"]["run"].as_str().unwrap());
            assert_eq!(is_of_run, !is_below, "{row}");
            // Another scope has none.
            let (_, others) = value(get(&app, "/v1/audit", "eve").await).await;
            assert_eq!(others["rows"], json!([]));
        }
    }
}

#[tokio::test]
async fn the_sink_of_the_agent_gets_its_record_beside_the_audit_rows() {
    let seen = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&seen);
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let deny = |_: &ClientCall<'_>| Authorization::deny("no");
    let sink = move |_: AuditRecord| {
        own.store(true, Ordering::Relaxed);
        std::panic::panic_any("boom");
    };
    let app = app(calling("page", page).authorizer(deny).audit(sink).build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    until(&app, &run, "run_end").await;
    rows(&app, "_platform.ai.tool_allowlist_denial", 1).await;
    assert!(seen.load(Ordering::Relaxed));
}

#[tokio::test]
async fn each_decision_is_a_row_with_who_gave_it_whichever_way_it_came() {
    let app = app(paying());
    let decisions = [
        (json!({ "decision": "grant" }), "approval.granted"),
        (
            json!({ "decision": "grant", "arguments": { "to": PLANTED } }),
            "approval.granted_changed",
        ),
        (json!({ "decision": "reject", "reason": PLANTED }), "approval.rejected"),
    ];
    for (mut decision, kind) in decisions {
        let run = begin(&app, "ann", &json!({ "input": PLANTED })).await;
        let asked = until(&app, &run, "tool_approval_request").await;
        decision["approval_id"] = asked["approval_id"].clone();
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &decision).await.status(), 200);
        // The answer comes behind the row.
        let (_, page) = value(get(&app, &format!("/v1/audit?type={kind}"), "ann").await).await;
        let row = &page["rows"][0];
        assert_eq!((&row["actor"], &row["owner"]), (&json!("ann"), &json!("ann")), "{page}");
        assert_eq!(
            (&row["subject"]["tool"], &row["subject"]["request"]),
            (&json!("pay"), &asked["approval_id"])
        );
        assert!(run.ends_with(row["subject"]["run"].as_str().unwrap()), "{row}");
        assert!(!page.to_string().contains(PLANTED), "{page}");
        // A second answer is refused, and no second row.
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &decision).await.status(), 404);
        assert_eq!(rows(&app, kind, 1).await.len(), 1);
    }
    let chat = |messages: Value| json!({ "id": "c1", "messages": messages });
    let said = json!({ "id": "u1", "role": "user", "content": PLANTED });
    let frames = text(post(&app, "/api/chat", "ann", &chat(json!([said]))).await).await;
    let member = |name: &str| {
        let found = frames.split(&format!("\"{name}\":\"")).nth(1);
        found.unwrap_or_else(|| panic!("{frames}")).split('"').next().unwrap().to_owned()
    };
    let part = json!({ "type": "dynamic-tool", "state": "approval-responded", "toolCallId": member("toolCallId"),
        "approval": { "id": member("approvalId"), "approved": false, "reason": PLANTED } });
    let body = chat(json!([said, { "id": "a1", "role": "assistant", "parts": [part] }]));
    text(post(&app, "/api/chat", "ann", &body).await).await;
    rows(&app, "approval.rejected", 2).await;
}

#[tokio::test]
async fn a_refused_request_is_a_row_with_its_route_and_without_its_content() {
    let app = app(paying());
    let run = begin(&app, "ann", &json!({ "input": PLANTED })).await;
    let asked = until(&app, &run, "tool_approval_request").await;
    let body =
        json!({ "approval_id": asked["approval_id"], "decision": "reject", "reason": PLANTED });
    assert_eq!(post(&app, &format!("{run}/approvals"), "less", &body).await.status(), 403);
    assert_eq!(get(&app, &format!("/v1/audit?type={PLANTED}"), "bob").await.status(), 403);
    for path in ["/v1/audit/export", "/v1/audit/verify"] {
        assert_eq!(get(&app, path, "bob").await.status(), 403);
        assert_eq!(get(&app, path, "").await.status(), 401);
    }
    let rows = rows(&app, "access.denied", 4).await;
    let of = |route: &str| rows.iter().find(|row| row["payload"]["route"] == route).unwrap();
    let approval = of("/v1/runs/{id}/approvals");
    assert!(run.ends_with(approval["subject"]["run"].as_str().unwrap()), "{approval}");
    assert_eq!(
        (&approval["actor"], &approval["payload"]["method"]),
        (&json!("ann"), &json!("POST"))
    );
    assert_eq!(
        (&of("/v1/audit")["actor"], &of("/v1/audit").get("subject")),
        (&json!("bob"), &None)
    );
}

#[tokio::test]
async fn the_chain_is_checked_and_exported_and_an_erasure_leaves_it_whole() {
    let service = team(paying()).build().unwrap();
    let app = router(service.clone());
    for at in 0..3 {
        let run =
            begin(&app, "ann", &json!({ "input": PLANTED, "conversation_id": format!("c{at}") }))
                .await;
        let asked = until(&app, &run, "tool_approval_request").await;
        let body = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &body).await.status(), 200);
        until(&app, &run, "run_end").await;
    }
    let check = async |query: &str| {
        value(get(&app, &format!("/v1/audit/verify{query}"), "ann").await).await
    };
    let (status, first) = check("").await;
    assert_eq!(
        (status, &first["whole"], &first["rows"]),
        (200, &json!(true), &json!(3)),
        "{first}"
    );
    let delete =
        request(Method::DELETE, "/v1/conversations/c0", "ann").body(Body::empty()).unwrap();
    let deleted = async {
        while app.clone().oneshot(request_again(&delete)).await.unwrap().status() != 204 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), deleted).await.unwrap();
    rows(&app, "conversation.deleted", 1).await;
    let counted = service.erase("team-a", "ann", EraseMode::Count).await.unwrap();
    let erased = service.erase("team-a", "ann", EraseMode::Hard).await.unwrap();
    assert_eq!((counted.audit, erased.audit), (4, 4));
    let [row] = &rows(&app, "data.erased", 1).await[..] else { panic!("one row") };
    assert_eq!((&row["actor"], &row["payload"]["audit"]), (&json!(""), &json!(4)), "{row}");
    let known = format!("?next={}&hash={}", first["next"], first["hash"].as_str().unwrap());
    let (_, later) = check(&known).await;
    assert_eq!(
        (&later["whole"], &later["rows"], &later["erased"]),
        (&json!(true), &json!(2), &json!(1))
    );
    let wrong = format!("?next={}&hash={}", first["next"], "0".repeat(64));
    let (_, other) = check(&wrong).await;
    assert_eq!((&other["whole"], other["problem"].is_string()), (&json!(false), true), "{other}");
    for query in ["?next=1", "?next=1&hash=x", "?x=1"] {
        assert_eq!(check(query).await.0, 400, "{query}");
    }
    let lines = text(get(&app, "/v1/audit/export", "ann").await).await;
    assert!(!lines.contains(PLANTED) && !lines.contains("\"ann\""), "{lines}");
    let mut lines = lines.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let head: AuditHead = serde_json::from_value(head["head"].clone()).unwrap();
    let mut chain = AuditChain::new(&head);
    for line in lines {
        chain.add(&serde_json::from_str::<AuditRow>(line).unwrap()).unwrap();
    }
    chain.end(&head).unwrap();
    assert_eq!((chain.rows(), chain.erased()), (5, 4));
}

/// Returns a request like another one.
fn request_again(of: &Request<Body>) -> Request<Body> {
    let mut again = Request::new(Body::empty());
    (*again.method_mut(), *again.uri_mut()) = (of.method().clone(), of.uri().clone());
    *again.headers_mut() = of.headers().clone();
    again
}

#[tokio::test]
async fn pages_of_rows_give_each_once_and_a_sweep_cuts_the_oldest() {
    let stores = Stores::in_memory();
    for at in 0..7 {
        let event = AuditEvent::new("host.event", "host", "ann", 1_000 + at);
        stores.audit.append("team-a", event).await.unwrap();
    }
    let service = team(paying()).stores(stores).build().unwrap();
    let app = router(service.clone());
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/audit?source=host&actor=ann&since=1001&until=1006&limit=2{after}");
        let (_, page) = value(get(&app, &path, "ann").await).await;
        seen.extend(
            page["rows"].as_array().unwrap().iter().map(|row| row["at_ms"].as_u64().unwrap()),
        );
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, [1_005, 1_004, 1_003, 1_002, 1_001]);
    for query in ["limit=0", "limit=201", "after=x", "since=x", "kind=x"] {
        assert_eq!(get(&app, &format!("/v1/audit?{query}"), "ann").await.status(), 400, "{query}");
    }
    let mut keep = Keep { audit_rows: 4, ..Keep::default() };
    service.sweep(&keep).await.unwrap();
    let (_, report) = value(get(&app, "/v1/audit/verify", "ann").await).await;
    assert_eq!(
        (&report["whole"], &report["first"], &report["rows"]),
        (&json!(true), &json!(3), &json!(4))
    );
    keep.audit_age = Some(Duration::from_mins(1));
    service.sweep(&keep).await.unwrap();
    let (_, report) = value(get(&app, "/v1/audit/verify", "ann").await).await;
    assert_eq!(
        (&report["whole"], &report["first"], &report["rows"]),
        (&json!(true), &json!(7), &json!(0))
    );
}

/// An audit store that refuses each event, or never answers.
struct BrokenAudit {
    store: InMemoryStore,
    answers: bool,
}

impl AuditStore for BrokenAudit {
    fn append<'a>(&'a self, _: &'a str, _: AuditEvent) -> StoreFuture<'a, u64> {
        if self.answers {
            return Box::pin(async { Err(StoreError::unavailable("it is gone")) });
        }
        Box::pin(std::future::pending())
    }

    fn read(&self, query: AuditQuery) -> StoreFuture<'_, AuditPage> {
        AuditStore::read(&self.store, query)
    }

    fn chain<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<AuditRow>> {
        self.store.chain(scope, from, most)
    }

    fn head<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, AuditHead> {
        self.store.head(scope)
    }

    fn scopes<'a>(&'a self, after: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<Text>> {
        self.store.scopes(after, most)
    }

    fn cut<'a>(&'a self, scope: &'a str, before_ms: u64, keep: u64) -> StoreFuture<'a, u64> {
        self.store.cut(scope, before_ms, keep)
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        AuditStore::erase(&self.store, scope, owner, mode)
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_and_what_was_not_stored_is_counted_when_the_audit_store_is_gone() {
    for answers in [true, false] {
        let mut stores = Stores::in_memory();
        stores.audit = Arc::new(BrokenAudit { store: InMemoryStore::new(), answers });
        let service = team(paying()).stores(stores).build().unwrap();
        let app = router(service.clone());
        let run = begin(&app, "ann", &json!({ "input": PLANTED })).await;
        let asked = until(&app, &run, "tool_approval_request").await;
        let body = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
        let began = tokio::time::Instant::now();
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &body).await.status(), 200);
        assert_eq!(began.elapsed() >= Duration::from_secs(5), !answers);
        assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
        let metrics = metrics_text(&service);
        let lost = "forgeline_audit_lost_total{type=\"approval.granted\"} 1\n";
        assert!(metrics.contains(lost), "{metrics}");
        assert!(!metrics.contains("forgeline_audit_events_total{"), "{metrics}");
    }
}
