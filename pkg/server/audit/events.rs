//! The events that the service reports.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::AuditTrail;
use crate::{
    access::scope::scope, http::ids::digest_text, input::pending::PendingAnswer,
    runs::run::ServiceRun,
};
use forgeline_agent::{Caller, access::AuditRecord, approval::Decision, private::RequestAnswer};
use forgeline_llm::without_secrets;
use forgeline_store::{AuditEvent, AuditSubject, private::now_ms};
use forgeline_types::Text;

/// Prefix of the types of events that the agents report.
const AGENT_TYPES: &str = "_platform.ai.";

/// Maximum length of a text in the details of an event, in characters.
const MAX_TEXT_CHARS: usize = 500;

/// Returns details from a JSON object, without members that are `null`.
fn details(members: Value) -> Map<String, Value> {
    let Value::Object(mut members) = members else { return Map::new() };
    members.retain(|_, value| !value.is_null());
    members
}

/// Returns the beginning of a text, without secrets.
fn shortened(text: &str) -> String {
    without_secrets(text).chars().take(MAX_TEXT_CHARS).collect()
}

/// Returns the id of an event that may be reported again.
fn event_id(parts: &[&str]) -> Text {
    format!("audit-{}", digest_text(parts.join("\n").as_bytes())).into()
}

impl AuditTrail {
    /// Receives a call that an agent refused.
    pub(crate) fn refused(self: &Arc<Self>, record: &AuditRecord) {
        let name = serde_json::to_value(record.kind).unwrap_or_default();
        let kind = format!("{AGENT_TYPES}{}", name.as_str().unwrap_or("call_refused"));
        let caller = record.caller.clone().unwrap_or_default();
        let scope = record.scope.clone().unwrap_or_else(|| format!("caller:{caller}").into());
        let mut subject = AuditSubject::default().run(record.run_id.clone());
        subject.tool = Some(record.tool_name.clone());
        subject.conversation.clone_from(&record.conversation);
        let members = json!({
            "call": record.id,
            "turn": record.turn,
            "reason": shortened(&record.reason),
            "tool_module": record.tool_module,
            "module": record.module.as_deref().map(shortened),
            "page": record.page.as_deref().map(shortened),
        });
        let event = AuditEvent::new(kind.as_str(), "agent", caller, record.at).subject(subject);
        let mut event = event.details(&details(members));
        event.id = event_id(&[&kind, &record.run_id, &record.turn.to_string(), &record.id]);
        self.write_later(scope, event);
    }
}

/// A decision about a call, until it is given.
pub(crate) struct AuditedDecision {
    request: Text,
    tool: Text,
    call: Text,
    word: &'static str,
}

impl AuditedDecision {
    /// Returns the decisions among answers to open requests of a run.
    pub(crate) fn among(run: &ServiceRun, answers: &[PendingAnswer]) -> Vec<Self> {
        let is_decision = |it: &PendingAnswer| matches!(it.given, RequestAnswer::Decided(_));
        if !answers.iter().any(is_decision) {
            return Vec::new();
        }
        let open = run.approvals.open();
        let of = |answer: &PendingAnswer| {
            let RequestAnswer::Decided(decision) = &answer.given else { return None };
            let asked = open.iter().find(|open| open.approval_id == answer.id)?;
            let (tool, call) = (asked.tool_name.clone(), asked.call_id.clone());
            Some(Self { request: answer.id.clone(), tool, call, word: word(decision)? })
        };
        answers.iter().filter_map(of).collect()
    }
}

/// Returns the last part of the type of a decision's event; `None` without a decision.
fn word(decision: &Decision) -> Option<&'static str> {
    if matches!(decision, Decision::Unanswered { .. }) {
        None
    } else if matches!(decision, Decision::Reject { .. }) {
        Some("rejected")
    } else if matches!(decision, Decision::GrantAlways) {
        Some("granted_always")
    } else if matches!(decision, Decision::GrantChanged { .. }) {
        Some("granted_changed")
    } else {
        Some("granted")
    }
}

/// Returns the events of decisions that a caller gave.
pub(crate) fn decided(run: &ServiceRun, by: &Caller, all: Vec<AuditedDecision>) -> Vec<AuditEvent> {
    let event = |AuditedDecision { request, tool, call, word }| {
        let subject = AuditSubject::default().run(run.id()).conversation(run.conversation.clone());
        let subject = subject.tool(tool).request(request.clone());
        let kind = format!("approval.{word}");
        let mut event = AuditEvent::new(kind.as_str(), "service", by.id.clone(), now_ms());
        event.id = event_id(&[&kind, run.id(), &request]);
        let event = event.owner(run.owner.clone()).subject(subject);
        event.details(&details(json!({ "call": call })))
    };
    all.into_iter().map(event).collect()
}

/// Returns the event of a conversation that its owner deleted.
pub(crate) fn conversation_deleted(by: &Caller, id: &str) -> (Text, AuditEvent) {
    let event = AuditEvent::new("conversation.deleted", "service", by.id.clone(), now_ms());
    (scope(by), event.subject(AuditSubject::default().conversation(id)))
}
