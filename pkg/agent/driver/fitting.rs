//! The part of a conversation that is sent: what a request leaves out, and the summary before it.

use std::{
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use futures_util::StreamExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    conversation::RunConversation, guard::or_cancelled, panic_safe_stream,
    shared_agent::SharedAgent,
};
use crate::{
    memory::{
        ContextWindow, EVERYTHING, SummaryParts, WindowBounds, WindowStep, WriteResults, has_media,
        has_proofs, media_bytes, room_to_compact,
    },
    run::OutsideSources,
    state::{
        AnswerId, ContentRefusal, ConversationSummary, RunState, StepInput, SummaryEnd,
        SummaryRange, WindowState,
    },
};
use forgeline_llm::private::media::AcceptedMedia;
use forgeline_llm::{Cost, ModelCard, Provider, ProviderError, RefusedContent, Request, collect};
use forgeline_types::{AgentError, Completion, ErrorCode, Message, MessageRole, UsageInfo};

/// The size of images and documents, in bytes, from which they are taken for the reason of a request that is too large.
const LARGE_MEDIA: usize = 1 << 20;

impl SharedAgent {
    /// Returns what the next run needs to know about the part of the conversation that is sent, where that part is bounded.
    pub(crate) fn window_marks(&self) -> Option<WindowState> {
        let marks = self.used_window()?.marks().of_next_run();
        (self.parts.may_have_window() || !marks.is_whole()).then_some(marks)
    }

    /// Stores a run's marks of the part that is sent.
    pub(super) fn keep_window(&self, marks: Option<&WindowState>) {
        if let Some(marks) = marks {
            self.window().keep(marks);
        }
    }

    /// Drops everything from a place onwards from the window.
    pub(crate) fn take_back_window(&self, place: usize) {
        let marks = self.used_window().map(|window| window.marks().before(place));
        if let Some(marks) = marks {
            self.begin_window(marks.as_ref());
        }
    }

    /// Starts another conversation with these marks, where they are known.
    pub(crate) fn begin_window(&self, marks: Option<&WindowState>) {
        if let Some(mut window) = self.used_window() {
            window.clear();
        }
        if let Some(marks) = marks {
            self.window().keep(&marks.of_next_run());
        }
    }

    /// Returns the part of the conversation that is sent; it is created when it is first needed.
    pub(super) fn window(&self) -> MutexGuard<'_, ContextWindow> {
        let create = || Box::new(ContextWindow::new(self.parts.estimator.clone()).into());
        self.window.get_or_init(create).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the part of the conversation that is sent, unless all of it is and was.
    pub(crate) fn used_window(&self) -> Option<MutexGuard<'_, ContextWindow>> {
        let is_used = self.parts.may_have_window() || self.window.get().is_some();
        is_used.then(|| self.window())
    }
}

impl RunConversation<'_> {
    /// Returns `true` when a part of the conversation may be left out of the requests of this run.
    pub(super) fn has_window(&self, state: &RunState) -> bool {
        self.parts.may_have_window() || state.marks().is_some_and(|marks| !marks.is_whole())
    }

    /// Returns the maximum tokens of a request, by the settings and by what the model has refused.
    fn max_context_tokens(&self, state: &RunState) -> Option<u64> {
        let learnt =
            state.marks().and_then(|marks| marks.room_of(&self.parts.provider.info().model));
        let own = self.parts.max_context_tokens();
        own.zip(learnt).map(|(own, learnt)| own.min(learnt)).or(own).or(learnt)
    }

    /// Returns the refusal of a part of the conversation that an error is about; `None` if it is about something else, or if the
    /// conversation has nothing like it.
    pub(super) fn content_refusal(
        &mut self,
        state: &RunState,
        error: &ProviderError,
    ) -> Option<ContentRefusal> {
        let mut content = error.refused_content()?;
        let around = self.next_request(state);
        let memory = self.agent.memory.lock();
        let messages = memory.transcript().messages();
        let marks = state.marks();
        let is_left = |at: &usize| marks.is_some_and(|marks| marks.media.contains(at));
        let is_shown = |(at, message): &(usize, &Arc<Message>)| !is_left(at) && has_media(message);
        let media = || messages.iter().enumerate().filter(is_shown);
        let is_status =
            |number| matches!(error.root(), ProviderError::Status(it) if it.status == number);
        if is_status(413) && media().map(|(_, it)| media_bytes(it)).sum::<usize>() > LARGE_MEDIA {
            content = RefusedContent::Media;
        }
        let (mut estimated, mut places) = (0, Vec::new());
        match content {
            RefusedContent::Context { .. } => {
                let mut window = self.agent.window();
                if let Some(marks) = marks {
                    window.keep(marks);
                }
                let write = |message: &Message| self.mode.write_results(message);
                let write = (!self.mode.native).then_some(&write as WriteResults<'_>);
                let bounds = WindowBounds { tokens: u64::MAX, share: None };
                drop(window.look(messages, &around, bounds, write));
                estimated = window.estimated();
            }
            RefusedContent::Media => {
                let is_answer = |message: &Arc<Message>| message.role == MessageRole::Assistant;
                let new = messages.iter().rposition(is_answer).map_or(0, |last| last + 1);
                if matches!(error.root(), ProviderError::Unsupported { .. }) {
                    // Nothing was sent: what the model does not accept is known.
                    let takes = AcceptedMedia::from(self.parts.provider.info());
                    places
                        .extend(media().filter(|(_, it)| has_refused(it, takes)).map(|(at, _)| at));
                }
                if places.is_empty() {
                    places.extend(media().map(|(at, _)| at).filter(|at| *at >= new));
                }
                if places.is_empty() {
                    places.extend(media().map(|(at, _)| at));
                }
                if places.is_empty() {
                    return None;
                }
            }
            RefusedContent::Proof => {
                let before = marks.map_or(0, |marks| marks.proofs);
                let signed = messages.iter().enumerate().skip(before);
                places.extend(signed.filter(|(_, it)| has_proofs(it)).map(|(at, _)| at));
                if places.is_empty() {
                    return None;
                }
            }
            _ => return None,
        }
        let (model, error) = (self.parts.provider.info().model.clone(), error.to_agent_error());
        Some(ContentRefusal { content, places, model, estimated, error })
    }

    /// Asks the provider for the window of a model that refused a request because of its length without saying what it may read.
    pub(super) async fn learn_window(&mut self, state: &RunState, refusal: &mut ContentRefusal) {
        let estimated = refusal.estimated;
        let RefusedContent::Context { window: window @ None, .. } = &mut refusal.content else {
            return;
        };
        let mut learnt = self.parts.set_window();
        if learnt.is_none() {
            let asked = panic_safe_stream::window(&*self.parts.provider);
            learnt = or_cancelled(self.emitter.cancel(), asked).await.flatten();
        }
        // A window that the request is in by the estimate does not say how much is too much.
        let now = state.marks().cloned().unwrap_or_default().in_scale(estimated);
        *window = learnt.filter(|learnt| *learnt < now);
    }

    /// Measures the next request; returns an input when the request must be shortened, or when the
    /// beginning of the conversation must be summarized first.
    pub(super) fn fit(&mut self, state: &RunState, id: AnswerId) -> Option<StepInput> {
        let config = &self.parts.config;
        let compacts = self.agent.compacts.load(Ordering::Acquire) && state.may_summarize();
        if !self.has_window(state) && !compacts {
            return None;
        }
        let most = self.max_context_tokens(state);
        if self.emitter.cancel().is_cancelled() {
            return None;
        }
        let share = config.summarize_at.filter(|_| most.is_some() && state.may_summarize());
        let share = if compacts { Some(EVERYTHING) } else { share };
        // A model whose context window is unknown may be one of several.
        let tokens = most.unwrap_or(u64::MAX);
        let (around, memory) = (self.next_request(state), self.agent.memory.lock());
        let mut window = self.agent.window();
        if let Some(marks) = state.marks() {
            window.keep(marks);
        }
        let messages = memory.transcript().messages();
        let write = |message: &Message| self.mode.write_results(message);
        let write = (!self.mode.native).then_some(&write as WriteResults<'_>);
        let step = window.look(messages, &around, WindowBounds { tokens, share }, write);
        if compacts {
            self.agent.compacts.store(false, Ordering::Release);
        }
        match step {
            WindowStep::Fits => None,
            WindowStep::Fitted(fitted) => Some(StepInput::Fitted(id, fitted)),
            WindowStep::Outgrown(outgrown) => Some(StepInput::Outgrown(id, outgrown)),
        }
    }

    /// Summarizes the beginning of the conversation, in as many requests as that takes.
    pub(super) async fn summarize(&mut self, state: &RunState, id: AnswerId) -> StepInput {
        let mut work = SummaryWork::default();
        let result = self.summary(state, &mut work).await;
        let SummaryWork { requests, usage, cost } = work;
        let usage = usage.filter(|_| requests > 0);
        StepInput::Summed(id, Box::new(SummaryEnd { result, requests, usage, cost }))
    }

    async fn summary(
        &mut self,
        state: &RunState,
        work: &mut SummaryWork,
    ) -> Result<ConversationSummary, AgentError> {
        let marks = state.marks().cloned().unwrap_or_default();
        let config = &self.parts.config;
        let Some(outgrown) = marks.due() else {
            return Err(failed("there is nothing to summarize".to_owned()));
        };
        let most = self.max_context_tokens(state);
        let most = most.unwrap_or_else(|| room_to_compact(outgrown.tokens));
        let messages = self.agent.memory.lock().transcript().clone();
        let messages = messages.messages().get(marks.summed..outgrown.first).unwrap_or_default();
        let (provider, template) = match &self.parts.summarizer {
            Some(provider) => (&**provider, Request::default()),
            None => (&*self.parts.provider, plain(&self.parts.request)),
        };
        let card = ModelCard::for_model(&provider.info().model);
        let own = card.and_then(|card| card.context_tokens).unwrap_or(u64::MAX);
        let most = marks.out_of_scale(most).min(own);
        let (messages_of, estimator) = (messages.iter().map(|it| &**it), &self.parts.estimator);
        let parts =
            SummaryParts::split(messages_of, most, estimator, |text| self.mode.broken(text));
        let parts = parts.map_err(failed)?;
        let messages = messages.get(..parts.messages()).unwrap_or_default();
        let (limit, cancel) = (config.summary_timeout, self.emitter.cancel().clone());
        let mut so_far = marks.summary.as_deref().map(str::to_owned);
        for at in 0..parts.len() {
            let request = parts.request(at, so_far.as_deref(), template.clone());
            let answer = answered(provider, request, limit, &cancel);
            let completion = work.count(answer.await, card)?;
            let text = self.mode.broken(completion.text.trim());
            if text.is_empty() {
                return Err(failed("the model wrote no summary".to_owned()));
            }
            so_far = Some(parts.cut(&text).to_owned());
        }
        let Some(text) = so_far else {
            return Err(failed("there is nothing to summarize".to_owned()));
        };
        Ok(self.summary_of(outgrown, text, messages, state.outside().clone()))
    }

    fn summary_of(
        &self,
        outgrown: SummaryRange,
        text: String,
        messages: &[Arc<Message>],
        mut outside: OutsideSources,
    ) -> ConversationSummary {
        let tokens = self.agent.window().estimated_with(outgrown, &text);
        for message in messages {
            outside.add(&OutsideSources::of_message(message));
        }
        ConversationSummary { text, outside, messages: messages.len(), tokens }
    }
}

/// Returns `true` for a message with an image or document that the model does not accept.
fn has_refused(message: &Message, takes: AcceptedMedia) -> bool {
    let results = message.tool_results().flat_map(|result| &result.parts);
    message.parts.iter().chain(results).any(|part| takes.refusal(part).is_some())
}

/// Returns the answer to a request, or what arrived of it before the run was cancelled.
async fn answered(
    provider: &dyn Provider,
    request: Request,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<Completion, ProviderError> {
    let opening = panic_safe_stream::stream(provider, request);
    let answer = async {
        let stream = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ProviderError::ended_early(0)),
            opened = opening => opened?,
        };
        collect(stream.take_until(cancel.cancelled())).await
    };
    let late = || ProviderError::config(format!("no summary came within {limit:?}"));
    timeout(limit, answer).await.unwrap_or_else(|_| Err(late()))
}

/// The requests made for a summary.
#[derive(Default)]
struct SummaryWork {
    requests: u32,
    usage: Option<UsageInfo>,
    /// The cost of all requests; `None` when the cost of one is unknown.
    cost: Option<Cost>,
}

impl SummaryWork {
    /// Counts an answer, or the part of it that arrived.
    fn count(
        &mut self,
        answer: Result<Completion, ProviderError>,
        card: Option<&ModelCard>,
    ) -> Result<Completion, AgentError> {
        let partial = match &answer {
            Ok(completion) => Some(completion),
            Err(ProviderError::Aborted { partial, .. }) => Some(&**partial),
            Err(_) => None,
        };
        let usage = partial.and_then(|completion| completion.usage);
        let cost = usage.as_ref().and_then(|usage| card?.cost(usage));
        self.cost = match (self.requests, self.cost) {
            (0, _) => cost,
            (_, sum) => sum.zip(cost).map(|(sum, cost)| sum + cost),
        };
        self.requests += 1;
        if let Some(usage) = &usage {
            self.usage.get_or_insert_default().add(usage);
        }
        let completion = answer.map_err(|error| error.to_agent_error())?;
        completion.error.clone().map_or(Ok(completion), Err)
    }
}

/// Returns the template of the agent's requests without the settings that apply to its answers.
fn plain(template: &Request) -> Request {
    let mut plain = template.clone();
    (plain.tool_choice, plain.response_format, plain.thinking) = (None, None, None);
    (plain.reasoning_effort, plain.parallel_tool_calls) = (None, None);
    plain.tools = Arc::from([]);
    plain.stop.clear();
    plain
}

fn failed(why: String) -> AgentError {
    AgentError::new(ErrorCode::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_llm::ToolChoice;

    #[test]
    fn a_request_for_a_summary_has_nothing_that_is_for_answers() {
        let template = {
            let mut it = Request::default();
            it.stop = vec!["\n".into()];
            it.tool_choice = Some(ToolChoice::None);
            it.parallel_tool_calls = Some(true);
            it.temperature = Some(0.5);
            it
        };
        let want = {
            let mut it = Request::default();
            it.temperature = Some(0.5);
            it
        };
        assert_eq!(format!("{:?}", plain(&template)), format!("{want:?}"));
    }

    #[test]
    fn the_cost_of_summaries_is_not_known_once_that_of_one_is_not() {
        let card = ModelCard::for_model("gpt-4o-mini");
        let answer = || {
            let usage = UsageInfo::default().input_tokens(60).output_tokens(40);
            Ok({
                let mut it = Completion::default();
                it.usage = Some(usage);
                it
            })
        };
        let one = card.unwrap().cost(&answer().unwrap().usage.unwrap());
        for (cards, want) in [([card, card], one.map(|one| one + one)), ([None, card], None)] {
            let mut work = SummaryWork::default();
            for card in cards {
                work.count(answer(), card).unwrap();
            }
            assert_eq!((work.cost, work.requests), (want, 2));
        }
    }
}
