//! The checks for approvers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use super::stage::{AgentStage, PlayedRun, report};
use crate::conformance::verdict::{CheckMiss, Report, hold};
use forgeline_agent::{
    RunInput,
    approval::{ApprovalContext, ApprovalPolicy, Approver},
    tools::{Tool, ToolContext, ToolFuture},
};
use forgeline_llm::scripted::ScriptedTurn;
use forgeline_types::Json;

/// A call for which an approver is asked.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a call is a name and arguments")]
pub struct AskedCall {
    /// The tool's name.
    pub tool_name: &'static str,
    /// The arguments, an object.
    pub arguments: Value,
}

/// Checks an approver inside an agent, with a call that it grants unchanged, and one that it rejects.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::approval::{ApprovalContext, Decision},
///     testing::conformance::agent::{AskedCall, check_approver},
/// };
/// use serde_json::json;
///
/// let only_reads = |asked: ApprovalContext| async move {
///     let is_read = asked.request.tool_name == "files.read";
///     if is_read { Decision::Grant } else { Decision::reject("only reading") }
/// };
/// let granted = AskedCall { tool_name: "files.read", arguments: json!({}) };
/// let rejected = AskedCall { tool_name: "files.remove", arguments: json!({}) };
/// let report = check_approver(only_reads, &granted, &rejected);
/// assert!(report.is_conforming(), "{report}");
/// ```
#[must_use]
pub fn check_approver(
    approver: impl Approver + 'static,
    granted: &AskedCall,
    rejected: &AskedCall,
) -> Report {
    let it: &Arc<dyn Approver> = &(Arc::new(approver) as _);
    let checks = vec![
        report("granted", "a call that is granted runs, as it was made", || async {
            let (got, ran) = played(it, &[granted]).await?;
            hold(ran == 1, || format!("it ran {ran} times; the model read {:?}", got.results))?;
            hold(got.results == [(DONE.to_owned(), false)], || format!("{:?}", got.results))
        }),
        report("rejected", "a call that is rejected does not run", || async {
            let (got, ran) = played(it, &[rejected]).await?;
            hold(ran == 0, || format!("it ran {ran} times"))?;
            hold(got.results.iter().all(|(text, is_error)| *is_error && is_rejection(text)), || {
                format!("no answer, or another: the model read {:?}", got.results)
            })
        }),
        report("side-by-side", "answers to requests side by side are not mixed up", || async {
            let (got, ran) = played(it, &[granted, rejected, granted, rejected]).await?;
            let failed: Vec<_> = got.results.iter().map(|(_, is_error)| *is_error).collect();
            hold(ran == 2 && failed == [false, true, false, true], || {
                format!("{ran} ran; the model read {:?}", got.results)
            })
        }),
    ];
    Report { checks }
}

/// The result of a call that runs.
const DONE: &str = "done";

fn is_rejection(text: &str) -> bool {
    text.contains("did not allow this call")
}

struct CountingTool {
    name: &'static str,
    ran: Arc<AtomicUsize>,
}

impl Tool for CountingTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &'static str {
        "Works."
    }

    fn schema(&self) -> Value {
        serde_json::json!({ "type": "object" })
    }

    fn execute(&self, _context: ToolContext, _arguments: Json) -> ToolFuture {
        self.ran.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(DONE.into())))
    }
}

/// Plays a turn with these calls; returns the events, and the number of calls that ran.
async fn played(
    approver: &Arc<dyn Approver>,
    calls: &[&AskedCall],
) -> Result<(PlayedRun, usize), CheckMiss> {
    let turn = calls
        .iter()
        .fold(ScriptedTurn::new(), |turn, it| turn.call(it.tool_name, it.arguments.clone()));
    let mut stage = AgentStage::new(turn);
    let ran = Arc::clone(&stage.ran);
    let mut names: Vec<_> = calls.iter().map(|call| call.tool_name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        stage.builder = stage.builder.tool(CountingTool { name, ran: Arc::clone(&ran) });
    }
    let shared = Arc::clone(approver);
    stage.builder = stage
        .builder
        .approval(ApprovalPolicy::Always)
        .approver(move |asked: ApprovalContext| shared.decide(asked));
    let got = stage.play(RunInput::from("Go."), 1).await;
    let got = got.map_err(|what| CheckMiss::Fails(vec![what]))?;
    Ok((got, ran.load(Ordering::SeqCst)))
}
