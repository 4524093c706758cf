//! The parts shared by all checks of this module.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize};

use crate::conformance::verdict::{CheckReport, CheckVerdict, Outcome, on_a_thread};
use forgeline_agent::{Agent, AgentBuilder, RunInput, access::AuditRecord};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
use forgeline_types::{AgentEvent, ClientToolRequest};

/// The client's result, which the model must receive.
const RESULT: &str = "the result of the client";

/// Creates the report of one check, which runs on its own thread and clock.
pub(super) fn report<F: Future<Output = CheckVerdict>>(
    name: &'static str,
    reason: &'static str,
    check: impl FnOnce() -> F + Send,
) -> CheckReport {
    let outcome = Outcome::from(on_a_thread(|| Box::pin(check())));
    CheckReport { name, reason, outcome }
}

/// An agent whose model makes calls in its first turn, and the effects of the calls.
pub(super) struct AgentStage {
    provider: ScriptedProvider,
    pub(super) builder: AgentBuilder,
    records: Arc<Mutex<Vec<AuditRecord>>>,
    /// The number of calls that ran in this process.
    pub(super) ran: Arc<AtomicUsize>,
}

/// The events and records of a run.
pub(super) struct PlayedRun {
    /// The names of the tools offered to the model.
    pub(super) offered: Vec<String>,
    pub(super) sent: Vec<ClientToolRequest>,
    /// The results of calls as the model received them, with `true` for failures.
    pub(super) results: Vec<(String, bool)>,
    pub(super) records: Vec<AuditRecord>,
}

impl PlayedRun {
    /// Returns the number of results that came from the client.
    pub(super) fn results_of_client(&self) -> usize {
        self.results.iter().filter(|(text, is_error)| text == RESULT && !is_error).count()
    }

    /// Returns the number of calls that were denied.
    pub(super) fn denied(&self) -> usize {
        let is_denial = |(text, is_error): &&(String, bool)| *is_error && text.contains("denied");
        self.results.iter().filter(is_denial).count()
    }
}

impl AgentStage {
    pub(super) fn new(turn: ScriptedTurn) -> Self {
        let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
        let records = Arc::<Mutex<Vec<AuditRecord>>>::default();
        let kept = Arc::clone(&records);
        let builder = Agent::builder(provider.clone()).audit(move |record: AuditRecord| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        });
        Self { provider, builder, records, ran: Arc::default() }
    }

    /// Runs the agent to its end; the client returns a result for each call, the last one first.
    pub(super) async fn play(self, input: RunInput, calls: usize) -> Result<PlayedRun, String> {
        let agent = self.builder.build().map_err(|error| error.to_string())?;
        let conversation = agent.conversation();
        let mut stream = conversation.run_stream(input);
        let (mut sent, mut waiting) = (Vec::new(), Vec::new());
        while let Some(envelope) = stream.next().await {
            if let AgentEvent::ClientToolRequest(request) = envelope.event {
                waiting.push(request.client_call_id.clone());
                sent.push(*request);
            }
            if waiting.len() == calls {
                for id in waiting.drain(..).rev() {
                    let taken = stream.complete_client_call(&id, RESULT);
                    taken.map_err(|error| error.to_string())?;
                }
            }
        }
        let ended = stream.outcome().await;
        ended.map_err(|failed| failed.to_string())?;
        let transcript = conversation.transcript();
        let results = transcript.iter().flat_map(|message| message.tool_results());
        let results = results.map(|result| (result.content.clone(), result.is_error)).collect();
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let requests = self.provider.requests();
        let tools = requests.first().map(|request| request.tools.iter());
        let names = tools.into_iter().flatten().map(|tool| tool.name.to_string());
        Ok(PlayedRun { offered: names.collect(), sent, results, records })
    }
}
