//! The checks for authorizers.

use std::{sync::Arc, thread};

use serde_json::{Value, json};

use super::stage::{AgentStage, PlayedRun, report};
use crate::conformance::verdict::{CheckMiss, CheckVerdict, Report, hold};
use forgeline_agent::{
    RunInput,
    access::{AuditKind, Authorization, Authorizer, ClientCall},
    tools::ClientTool,
};
use forgeline_llm::scripted::ScriptedTurn;

/// Checks an authorizer: by itself, with a call that it allows and one that it denies, and inside an agent.
///
/// See [the module](super) for an example. In an agent, an authorizer that panics denies the call, but it should not panic.
#[must_use]
pub fn check_authorizer(
    authorizer: impl Authorizer + 'static,
    allowed: &ClientCall<'_>,
    denied: &ClientCall<'_>,
) -> Report {
    let authorizer: Arc<dyn Authorizer> = Arc::new(authorizer);
    let (it, calls) = (&*authorizer, (allowed, denied));
    let checks = vec![
        report("allowed", "a call that is allowed is allowed", || async { allows(it, allowed) }),
        report("denied", "a call that is denied is denied, with a reason", || async {
            denies(it, denied)
        }),
        report("repeated", "the same call gets the same answer", || async { repeated(it, calls) }),
        report("malformed", "arguments that are not JSON are not allowed", || async {
            malformed(it, allowed, "{ not valid json")
        }),
        report("empty", "empty arguments are not allowed", || async { malformed(it, allowed, "") }),
        report("no-place", "a call from no module and page gets an answer", || async {
            let _answers = (decide(it, &nowhere(allowed)), decide(it, &nowhere(denied)));
            Ok(())
        }),
        report("by-value", "calls that are equal get equal answers", || async {
            by_value(it, calls)
        }),
        report("in-parallel", "answers do not depend on calls beside or before", || async {
            in_parallel(it, calls)
        }),
        report("round-trip", "an allowed call goes to the client and back", || async {
            round_trip(&authorizer, allowed).await
        }),
        report("short-circuit", "a denied call goes nowhere, and is recorded", || async {
            short_circuit(&authorizer, denied, 1).await
        }),
        report("two-calls", "two calls of a turn have two ids, and end in any order", || async {
            two_calls(&authorizer, allowed).await
        }),
        report("all-denied", "each of several denied calls is recorded", || async {
            short_circuit(&authorizer, denied, 2).await
        }),
    ];
    Report { checks }
}

/// Returns the call without its place and its caller.
fn nowhere<'a>(call: &ClientCall<'a>) -> ClientCall<'a> {
    ClientCall::new(call.tool_name, call.arguments)
}

fn decide(authorizer: &dyn Authorizer, call: &ClientCall<'_>) -> Authorization {
    authorizer.authorize(call)
}

fn allows(authorizer: &dyn Authorizer, allowed: &ClientCall<'_>) -> CheckVerdict {
    let got = decide(authorizer, allowed);
    hold(got == Authorization::Allow, || format!("`{}`: {got:?}", allowed.tool_name))
}

fn denies(authorizer: &dyn Authorizer, denied: &ClientCall<'_>) -> CheckVerdict {
    let got = decide(authorizer, denied);
    let is_denial = matches!(&got, Authorization::Deny { reason, .. } if !reason.trim().is_empty());
    hold(is_denial, || format!("`{}`: {got:?}", denied.tool_name))
}

fn repeated(
    it: &dyn Authorizer,
    (allowed, denied): (&ClientCall<'_>, &ClientCall<'_>),
) -> CheckVerdict {
    let first = [decide(it, allowed), decide(it, denied)];
    for _ in 0..8 {
        let next = [decide(it, allowed), decide(it, denied)];
        hold(next == first, || format!("{next:?} after {first:?}"))?;
    }
    Ok(())
}

fn malformed(it: &dyn Authorizer, allowed: &ClientCall<'_>, arguments: &str) -> CheckVerdict {
    let mut call = *allowed;
    call.arguments = arguments;
    let got = decide(it, &call);
    hold(got != Authorization::Allow, || format!("the arguments `{arguments}` are allowed"))
}

fn by_value(
    it: &dyn Authorizer,
    (allowed, denied): (&ClientCall<'_>, &ClientCall<'_>),
) -> CheckVerdict {
    for call in [allowed, denied] {
        let own = |text: &str| text.to_owned();
        let (name, arguments) = (own(call.tool_name), own(call.arguments));
        let (module, page) = (call.module.map(own), call.page.map(own));
        let caller = call.caller.cloned();
        let mut equal = ClientCall::new(&name, &arguments);
        (equal.module, equal.page) = (module.as_deref(), page.as_deref());
        equal.caller = caller.as_ref();
        let (got, want) = (decide(it, &equal), decide(it, call));
        hold(got == want, || format!("`{name}`: {got:?} and {want:?}"))?;
    }
    Ok(())
}

fn in_parallel(
    it: &dyn Authorizer,
    (allowed, denied): (&ClientCall<'_>, &ClientCall<'_>),
) -> CheckVerdict {
    let want = [decide(it, allowed), decide(it, denied)];
    let rounds = |calls: [&ClientCall<'_>; 2]| {
        (0..64).all(|_| {
            calls.map(|call| decide(it, call)) == calls.map(|call| answer(call, &want, allowed))
        })
    };
    let is_equal = thread::scope(|scope| {
        let orders = [[allowed, denied], [denied, allowed], [allowed, allowed], [denied, denied]];
        let asking = orders.map(|calls| scope.spawn(move || rounds(calls)));
        asking.into_iter().all(|rounds| rounds.join().unwrap_or(false))
    });
    hold(is_equal, || "an answer in parallel differs".to_owned())
}

/// Returns the expected answer for one of the two calls.
fn answer(
    call: &ClientCall<'_>,
    want: &[Authorization; 2],
    allowed: &ClientCall<'_>,
) -> Authorization {
    let [of_allowed, of_denied] = want;
    if call == allowed { of_allowed.clone() } else { of_denied.clone() }
}

/// Plays a turn with this number of identical calls, under the authorizer.
async fn played(
    authorizer: &Arc<dyn Authorizer>,
    call: &ClientCall<'_>,
    calls: usize,
) -> Result<PlayedRun, CheckMiss> {
    let fails = |what: String| CheckMiss::Fails(vec![what]);
    let arguments: Value =
        serde_json::from_str(call.arguments).map_err(|error| fails(error.to_string()))?;
    let turn = (0..calls)
        .fold(ScriptedTurn::new(), |turn, _| turn.call(call.tool_name, arguments.clone()));
    let mut stage = AgentStage::new(turn);
    let tool = ClientTool::new(call.tool_name, "Works.", json!({ "type": "object" }));
    let shared = Arc::clone(authorizer);
    let authorizer = move |call: &ClientCall<'_>| shared.authorize(call);
    stage.builder = stage.builder.tool(tool).authorizer(authorizer);
    let mut input = RunInput::from("Go.");
    if let Some(module) = call.module {
        input = input.module(module);
    }
    if let Some(page) = call.page {
        input = input.page(page);
    }
    if let Some(caller) = call.caller {
        input = input.caller(caller.clone());
    }
    stage.play(input, calls).await.map_err(fails)
}

async fn round_trip(authorizer: &Arc<dyn Authorizer>, allowed: &ClientCall<'_>) -> CheckVerdict {
    let got = played(authorizer, allowed, 1).await?;
    hold(got.sent.len() == 1, || format!("{} requests to the client", got.sent.len()))?;
    hold(got.results_of_client() == 1, || format!("the model read {:?}", got.results))?;
    hold(got.records.is_empty(), || format!("a record was kept: {:?}", got.records))
}

async fn short_circuit(
    authorizer: &Arc<dyn Authorizer>,
    denied: &ClientCall<'_>,
    calls: usize,
) -> CheckVerdict {
    let got = played(authorizer, denied, calls).await?;
    hold(got.sent.is_empty(), || format!("{} requests to the client", got.sent.len()))?;
    hold(got.denied() == calls, || format!("the model read {:?}", got.results))?;
    let is_of_call = |record: &&forgeline_agent::access::AuditRecord| {
        record.kind == AuditKind::ToolAllowlistDenial && record.tool_name == denied.tool_name
    };
    let kept = got.records.iter().filter(is_of_call).count();
    hold(kept >= 1, || format!("no record names the call: {:?}", got.records))
}

async fn two_calls(authorizer: &Arc<dyn Authorizer>, allowed: &ClientCall<'_>) -> CheckVerdict {
    let got = played(authorizer, allowed, 2).await?;
    let ids: Vec<_> = got.sent.iter().map(|request| &request.client_call_id).collect();
    hold(matches!(ids[..], [one, other] if one != other), || format!("the ids are {ids:?}"))?;
    hold(got.results_of_client() == 2, || format!("the model read {:?}", got.results))
}
