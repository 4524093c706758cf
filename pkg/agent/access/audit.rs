//! Records of refused calls.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{audit_kind::AuditKind, call_denial::CallDenial};
use crate::run::RunContext;
use forgeline_types::Text;

/// A receiver of records of refused calls: a log, a table. It receives a record once the refusal is in the journal, if the agent has one; a resumed run
/// may repeat its last record.
///
/// It must not block. A panic in it is caught; the record is then only in the log.
///
/// # Examples
///
/// Functions are sinks:
///
/// ```
/// use forgeline::{
///     agent::{Agent, access::AuditRecord},
///     llm::demo::DemoProvider,
/// };
///
/// let agent = Agent::builder(DemoProvider::new())
///     .audit(|record: AuditRecord| eprintln!("{}: {}", record.tool_name, record.reason))
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
pub trait AuditSink: Send + Sync {
    /// Receives a record.
    fn record(&self, record: AuditRecord);
}

impl<F: Fn(AuditRecord) + Send + Sync> AuditSink for F {
    fn record(&self, record: AuditRecord) {
        self(record);
    }
}

/// The sink of an agent's host, which the agent's sub-agents inherit.
#[derive(Clone)]
pub(crate) struct HostAudit(pub(crate) Arc<dyn AuditSink>);

impl fmt::Debug for HostAudit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostAudit").finish_non_exhaustive()
    }
}

/// A refused call. The arguments are left out, as they may contain data that must not be logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditRecord {
    /// The kind of the refusal.
    pub kind: AuditKind,
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The id of the run.
    pub run_id: Text,
    /// The turn within the run, from 1.
    pub turn: u32,
    /// The id of the call.
    pub id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The module that the tool belongs to, if any.
    pub tool_module: Option<Text>,
    /// The reason, as given to the model.
    pub reason: String,
    /// The id of the caller, if any.
    pub caller: Option<Text>,
    /// The scope of the caller, if any.
    pub scope: Option<Text>,
    /// The conversation of the run, if any.
    pub conversation: Option<Text>,
    /// The module of the application that the input came from, if any.
    pub module: Option<Text>,
    /// The page of the application that the input came from, if any.
    pub page: Option<Text>,
}

/// The run and the time of a refusal.
pub(crate) struct RefusalContext<'a> {
    pub(crate) at: u64,
    pub(crate) run_id: &'a Text,
    pub(crate) turn: u32,
    pub(crate) tool_module: Option<&'a str>,
    pub(crate) run: &'a RunContext,
}

impl AuditRecord {
    pub(crate) fn new(denial: CallDenial, refused: &RefusalContext<'_>) -> Self {
        let RefusalContext { at, run_id, turn, tool_module, run } = refused;
        let caller = run.caller();
        Self {
            kind: denial.kind,
            at: *at,
            run_id: (*run_id).clone(),
            turn: *turn,
            id: denial.id,
            tool_name: denial.tool_name,
            tool_module: tool_module.map(Text::from),
            reason: denial.reason,
            caller: caller.map(|caller| caller.id.clone()),
            scope: caller.and_then(|caller| caller.scope.clone()),
            conversation: run.conversation().map(Text::from),
            module: run.module().map(Text::from),
            page: run.page().map(Text::from),
        }
    }
}

/// Writes a record to the log, and to the sinks if there are any.
pub(crate) fn write(sink: Option<&dyn AuditSink>, host: Option<&HostAudit>, record: &AuditRecord) {
    let AuditRecord { kind, run_id, id, tool_name, caller, .. } = record;
    let caller = caller.as_deref();
    tracing::warn!(?kind, %run_id, call = %id, tool = %tool_name, caller, "a call was refused");
    let host = host.map(|HostAudit(sink)| &**sink);
    for sink in [sink, host].into_iter().flatten() {
        // A panic in the sink affects nothing else.
        let _told = catch_unwind(AssertUnwindSafe(|| sink.record(record.clone())));
    }
}
