//! Calls that are refused: by the authorizer, and for callers who may not use a tool.

use std::sync::{Arc, Mutex};

use super::{
    client_tools::{read, results},
    whole::assert_history_is_whole,
    *,
};
use crate::{
    Caller, RunInput,
    access::{
        AllowList, AuditKind, AuditRecord, Authorization, ClientCall, ModulePermissions,
        Permissions, ToolAccess,
    },
    approval::ApprovalPolicy,
    config::CallMode,
    journal::MemoryJournal,
    run::Surface,
};

type Records = Arc<Mutex<Vec<AuditRecord>>>;

/// Keeps the records of an agent.
fn audited(builder: AgentBuilder) -> (AgentBuilder, Records) {
    let records = Records::default();
    let kept = Arc::clone(&records);
    (builder.audit(move |record: AuditRecord| kept.lock().unwrap().push(record)), records)
}

fn input() -> RunInput {
    RunInput::from("Go.").caller(Caller::new("ann").scope("team")).module("shop").page("cart")
}

fn turns(name: &str, arguments: Value) -> [ScriptedTurn; 2] {
    [ScriptedTurn::new().call(name, arguments), ScriptedTurn::new().text("Done.")]
}

/// Runs `input` as a stream to the end.
async fn events_of(builder: AgentBuilder, input: RunInput) -> Vec<Envelope> {
    let agent = builder.build().unwrap().conversation();
    let (mut stream, mut events) = (agent.run_stream(input), Vec::new());
    to_the_end(&mut stream, &mut events).await;
    assert_eq!(stream.outcome().await.unwrap().text, "Done.");
    assert_history_is_whole(&agent);
    events
}

// Covers: T-58, T-59, CT-10
#[tokio::test(start_paused = true)]
async fn a_denied_call_is_not_sent_and_is_recorded() {
    type Decide = fn(&ClientCall<'_>) -> Authorization;
    let rows: [(Decide, &str); 4] = [
        (|_| Authorization::deny("not on this page"), "not on this page"),
        (|_| Authorization::deny("  "), "it is not allowed here"),
        (|_| std::panic::panic_any("boom"), "the authorizer panicked"),
        (
            |call| {
                let place = (call.module, call.page, call.caller.map(|caller| caller.id.as_str()));
                assert_eq!(place, (Some("shop"), Some("cart"), Some("ann")));
                assert_eq!(
                    (call.tool_name, call.arguments),
                    ("page.read", r##"{"selector":"#a"}"##)
                );
                Authorization::deny("seen")
            },
            "seen",
        ),
    ];
    for (decide, reason) in rows {
        let provider = ScriptedProvider::new(turns("page_read", json!({ "selector": "#a" })));
        let (builder, records) = audited(builder(&provider).tool(read()).authorizer(decide));
        let events = events_of(builder, input()).await;
        assert_eq!(count(&events, "client_tool_request"), 0, "{reason}");
        assert_eq!(count(&events, "client_tool_cancelled"), 0, "{reason}");
        let [result] = &results(&provider)[..] else { panic!("one result") };
        assert!(result.contains("was denied: ") && result.contains(reason), "{result}");
        let records = records.lock().unwrap();
        let [record] = &records[..] else { panic!("one record: {records:?}") };
        assert_eq!((record.kind, &record.reason), (AuditKind::ToolAllowlistDenial, result));
        assert_eq!((record.tool_name.as_str(), record.turn), ("page.read", 1));
        assert_eq!(record.tool_module.as_deref(), Some("page"));
        assert_eq!(
            (record.caller.as_deref(), record.scope.as_deref()),
            (Some("ann"), Some("team"))
        );
        assert_eq!(
            (record.module.as_deref(), record.page.as_deref()),
            (Some("shop"), Some("cart"))
        );
        assert_eq!((&record.run_id, record.at > 0), (&events[0].run_id, true));
    }
}

// Covers: T-43, T-60, CT-04, CT-05
#[test]
fn names_of_the_house_and_arguments_that_are_no_json_are_denied_unasked() {
    // It would allow each: a panic of it would deny the call too.
    let asked = |_: &ClientCall<'_>| Authorization::Allow;
    for (name, arguments) in
        [("_sdk.run", "{}"), ("_", "{}"), ("page.read", "{ no"), ("page.read", "")]
    {
        let denied = crate::access::authorize(Some(&asked), &ClientCall::new(name, arguments));
        assert!(denied.is_err(), "{name} {arguments}");
    }
    assert_eq!(crate::access::authorize(None, &ClientCall::new("page.read", "{}")), Ok(()));
}

// Covers: CT-09
#[tokio::test(start_paused = true)]
async fn an_allowed_call_is_sent_and_leaves_no_record() {
    let provider = ScriptedProvider::new(turns("page_read", json!({ "selector": "#a" })));
    let builder = builder(&provider).tool(read()).authorizer(AllowList::of(["page.read"]));
    let (builder, records) = audited(builder);
    let mut stream = builder.build().unwrap().conversation().run_stream(input());
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ClientToolRequest(request) = envelope.event {
            stream.complete_client_call(&request.client_call_id, "A").unwrap();
        }
    }
    assert_eq!(results(&provider), ["A"]);
    assert!(records.lock().unwrap().is_empty());
}

/// The names of the tools that the model was offered.
fn offered(provider: &ScriptedProvider) -> Vec<String> {
    let request = provider.requests().remove(0);
    request.tools.iter().map(|tool| tool.name.to_string()).collect()
}

/// A tool that pays, and what it paid.
fn pay() -> (impl crate::tools::Tool + 'static, Arc<Mutex<u32>>) {
    let paid = Arc::new(Mutex::new(0));
    let count = Arc::clone(&paid);
    let tool = tool_fn("billing.pay", "Pays.", move |_: ToolContext, _: Nothing| {
        *count.lock().unwrap() += 1;
        std::future::ready("paid")
    });
    (tool.module("billing").permission("billing.write"), paid)
}

// Covers: T-41, T-50, E-18, CT-19, CT-20
#[tokio::test(start_paused = true)]
async fn a_tool_that_the_caller_may_not_use_is_not_offered_and_does_not_run() {
    for mode in [CallMode::Native, CallMode::Text] {
        for may in [false, true] {
            let turn = match mode {
                CallMode::Text => ScriptedTurn::new()
                    .text(r#"<tool>{"tool_name":"billing.pay","arguments":{}}</tool>"#),
                _ => ScriptedTurn::new().call("billing_pay", json!({})),
            };
            let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
            let (tool, paid) = pay();
            // Nobody is asked about a call that may not run.
            let builder = builder(&provider).tool(tool).call_mode(mode);
            let builder = builder.approval(ApprovalPolicy::Never);
            let (builder, records) = audited(builder);
            let caller = Caller::new("ann");
            let caller = if may { caller.permission("billing.write") } else { caller };
            let events = events_of(builder, input().caller(caller)).await;
            assert_eq!(*paid.lock().unwrap(), u32::from(may), "{mode:?}");
            assert_eq!(count(&events, "tool_call"), usize::from(may), "{mode:?}");
            let request = provider.requests().remove(0);
            let is_described = request.system.is_some_and(|text| text.contains("billing.pay"));
            let is_offered = offered(&provider).contains(&"billing.pay".to_owned());
            assert_eq!(is_offered || is_described, may, "{mode:?}");
            let records = records.lock().unwrap();
            assert_eq!(records.len(), usize::from(!may), "{mode:?}: {records:?}");
            if let Some(record) = records.first() {
                assert_eq!(record.kind, AuditKind::UnauthorizedTool);
                assert_eq!(record.tool_module.as_deref(), Some("billing"));
                assert!(record.reason.contains("denied") && record.reason.contains("`billing`"));
            }
        }
    }
}

/// What a run may not use is not named in what the model reads of a name that nobody knows.
#[tokio::test(start_paused = true)]
async fn unknown_names_are_answered_with_the_tools_on_offer() {
    let provider = ScriptedProvider::new(turns("nope", json!({})));
    let events = events_of(builder(&provider).tool(pay().0), input()).await;
    assert_eq!(count(&events, "tool_result_error"), 1);
    let [result] = &results(&provider)[..] else { panic!("one result") };
    assert!(result.contains("echo") && !result.contains("billing"), "{result}");
}

// Covers: T-53
#[tokio::test(start_paused = true)]
async fn a_tool_at_the_client_is_for_a_full_page() {
    let rows = [
        (Some(Surface::FullPage), true),
        (Some(Surface::SidePanel), false),
        (Some(Surface::None), false),
        (None, true),
    ];
    for (surface, is_sent) in rows {
        let provider = ScriptedProvider::new(turns("page_read", json!({ "selector": "#a" })));
        let input = surface.map_or_else(input, |surface| input().surface(surface));
        let (builder, records) = audited(builder(&provider).tool(read()));
        let mut stream = builder.build().unwrap().conversation().run_stream(input);
        let mut sent = 0;
        while let Some(envelope) = stream.next().await {
            if let AgentEvent::ClientToolRequest(request) = envelope.event {
                sent += 1;
                stream.complete_client_call(&request.client_call_id, "A").unwrap();
            }
        }
        assert_eq!(sent, usize::from(is_sent), "{surface:?}");
        assert_eq!(offered(&provider).contains(&"page.read".to_owned()), is_sent, "{surface:?}");
        assert_eq!(records.lock().unwrap().len(), usize::from(!is_sent), "{surface:?}");
    }
}

/// Permissions that change while a run is put away: what was withheld stays so, and what is withheld now is.
#[tokio::test(start_paused = true)]
async fn the_stricter_of_stored_and_present_rules_counts() {
    type May = fn(Option<&Caller>, &ToolAccess<'_>) -> bool;
    let never: May = |_, tool| tool.name != "billing.pay";
    let always: May = |_, _| true;
    for (first, second, runs) in [(never, always, 0), (always, never, 0), (always, always, 1)] {
        let journal = MemoryJournal::default();
        let provider = ScriptedProvider::new([ScriptedTurn::new().hang()]);
        let build = |provider: &ScriptedProvider, rules: May, journal: MemoryJournal| {
            let (tool, paid) = pay();
            let builder = builder(provider).tool(tool).permissions(rules);
            let (builder, records) = audited(builder);
            (builder.build().unwrap().conversation().with_journal(journal), paid, records)
        };
        let (agent, ..) = build(&provider, first, journal.clone());
        let mut stream = agent.run_stream(input());
        while let Ok(Some(_)) = tokio::time::timeout(SOON, stream.next()).await {}
        drop(stream);
        let provider = ScriptedProvider::new(turns("billing_pay", json!({})));
        let lines = MemoryJournal::from(journal.lines());
        let (agent, paid, records) = build(&provider, second, lines);
        assert_eq!(agent.resume().await.unwrap().expect("it had not ended").text, "Done.");
        assert_eq!(*paid.lock().unwrap(), runs);
        assert_eq!(records.lock().unwrap().len(), usize::from(runs == 0));
        assert_eq!(offered(&provider).contains(&"billing.pay".to_owned()), runs == 1);
    }
}

/// A caller that may not, whatever the rules do.
#[tokio::test(start_paused = true)]
async fn panicking_authorizer_denies_the_call() {
    let provider = ScriptedProvider::new(turns("echo", json!({ "text": "a" })));
    let rules = |_: Option<&Caller>, _: &ToolAccess<'_>| -> bool { std::panic::panic_any("boom") };
    let events = events_of(builder(&provider).permissions(rules), input()).await;
    assert_eq!((count(&events, "tool_call"), offered(&provider).len()), (0, 0));
}

// Covers: CT-14, CT-15, CT-16, CT-17, CT-18, CT-22
#[test]
fn modules_are_read_by_those_who_may() {
    let ann = |permissions: &[&str]| {
        permissions.iter().fold(Caller::new("ann"), |caller, name| caller.permission(*name))
    };
    let rows: [(&[&str], Option<&str>, bool); 12] = [
        (&[], Some("orders"), true),
        (&["orders:read"], Some("orders"), true),
        (&["orders:write"], Some("orders"), true),
        (&["orders:admin"], Some("orders"), true),
        (&["orders:none"], Some("orders"), false),
        (&["orders"], Some("orders"), false),
        (&["orders:read"], Some("billing"), false),
        (&["orders:read"], None, true),
        (&["orders:read"], Some("_platform"), true),
        (&["_platform:none"], Some("_platform"), false),
        (&["_platform:read"], Some("_platform"), true),
        (&["orders:none", "orders:read"], Some("orders"), true),
    ];
    for (permissions, module, may) in rows {
        let mut tool = ToolAccess::new("it");
        tool.module = module;
        let got = ModulePermissions.may_use(Some(&ann(permissions)), &tool);
        assert_eq!(got, may, "{permissions:?} {module:?}");
    }
    assert!(!ModulePermissions.may_use(None, &ToolAccess::new("it").module("orders")));
    assert!(ModulePermissions.may_use(None, &ToolAccess::new("it")));
}
