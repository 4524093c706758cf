//! The checks for permissions.

use std::sync::{Arc, atomic::Ordering};

use serde_json::json;

use super::stage::{AgentStage, PlayedRun, report};
use crate::conformance::verdict::{CheckMiss, Report, hold};
use forgeline_agent::{
    Caller, RunInput,
    access::{AuditKind, Permissions, ToolAccess},
    tools::{ToolContext, TypedTool, tool_fn},
};
use forgeline_llm::scripted::ScriptedTurn;

/// Checks permissions: by themselves, with a tool that the caller may use and one that the caller may not, and inside an agent.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{
///         Caller,
///         access::{NamedPermissions, ToolAccess},
///     },
///     testing::conformance::agent::check_permissions,
/// };
///
/// let caller = Caller::new("ann").permission("orders.read");
/// let open = ToolAccess::new("orders.list").permission("orders.read");
/// let closed = ToolAccess::new("orders.pay").permission("orders.write");
/// let report = check_permissions(NamedPermissions, &caller, &open, &closed);
/// assert!(report.is_conforming(), "{report}");
/// ```
#[must_use]
pub fn check_permissions(
    permissions: impl Permissions + 'static,
    caller: &Caller,
    open: &ToolAccess<'_>,
    closed: &ToolAccess<'_>,
) -> Report {
    let permissions: Arc<dyn Permissions> = Arc::new(permissions);
    let rules = &*permissions;
    let checks = vec![
        report("open", "the caller may use what is open", || async {
            hold(rules.may_use(Some(caller), open), || format!("`{}` is refused", open.name))
        }),
        report("closed", "the caller may not use what is closed", || async {
            hold(!rules.may_use(Some(caller), closed), || format!("`{}` is open", closed.name))
        }),
        report("repeated", "the same question gets the same answer", || async {
            let equal = caller.clone();
            let is_same = (0..8)
                .all(|_| rules.may_use(Some(&equal), open) && !rules.may_use(Some(&equal), closed));
            hold(is_same, || "an answer differs".to_owned())
        }),
        report("no-caller", "a run without a caller may use no more than one with", || async {
            hold(!rules.may_use(None, closed), || format!("`{}` is open", closed.name))
        }),
        report("listing", "what is closed is not offered, and what is open is", || async {
            let got = played(&permissions, caller, [open, closed], open).await?.0;
            hold(got.offered == [open.name], || format!("the model was offered {:?}", got.offered))
        }),
        report("forged-name", "a call of a closed tool does not run, and is recorded", || async {
            let (got, ran) = played(&permissions, caller, [open, closed], closed).await?;
            hold(ran == 0, || format!("`{}` has run", closed.name))?;
            hold(got.denied() == 1, || format!("the model read {:?}", got.results))?;
            let is_kept = got.records.iter().any(|record| {
                record.kind == AuditKind::UnauthorizedTool
                    && record.tool_name == closed.name
                    && record.tool_module.as_deref() == closed.module
            });
            hold(is_kept, || format!("no record names the tool: {:?}", got.records))
        }),
        report("dispatch", "a call of an open tool runs once, without a record", || async {
            let (got, ran) = played(&permissions, caller, [open, closed], open).await?;
            hold(ran == 1, || format!("`{}` has run {ran} times", open.name))?;
            hold(got.records.is_empty(), || format!("a record was kept: {:?}", got.records))
        }),
    ];
    Report { checks }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArguments {}

/// Plays a call of one of two tools; returns the events, and the number of times that a tool ran.
async fn played(
    permissions: &Arc<dyn Permissions>,
    caller: &Caller,
    tools: [&ToolAccess<'_>; 2],
    which: &ToolAccess<'_>,
) -> Result<(PlayedRun, usize), CheckMiss> {
    let mut stage = AgentStage::new(ScriptedTurn::new().call(which.name, json!({})));
    let ran = Arc::clone(&stage.ran);
    for access in tools {
        stage.builder = stage.builder.tool(with_facts(
            tool_fn(access.name, "Works.", {
                let ran = Arc::clone(&ran);
                move |_: ToolContext, _: NoArguments| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    std::future::ready("done")
                }
            }),
            access,
        ));
    }
    let shared = Arc::clone(permissions);
    stage.builder =
        stage.builder.permissions(move |caller: Option<&Caller>, tool: &ToolAccess<'_>| {
            shared.may_use(caller, tool)
        });
    let input = RunInput::from("Go.").caller(caller.clone());
    let got = stage.play(input, 1).await.map_err(|what| CheckMiss::Fails(vec![what]))?;
    Ok((got, ran.load(Ordering::SeqCst)))
}

fn with_facts<F>(
    tool: TypedTool<NoArguments, F>,
    access: &ToolAccess<'_>,
) -> TypedTool<NoArguments, F> {
    let tool = match access.module {
        Some(module) => tool.module(module),
        None => tool,
    };
    match access.permission {
        Some(permission) => tool.permission(permission),
        None => tool,
    }
}
