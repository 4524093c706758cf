//! An answer as one body.

use std::{
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use super::{
    FrontProtocol,
    answer_pieces::{AnswerPieces, FrontAnswerEnd, ReceivePieces},
};
use crate::encode::{EncodeMessages, RunEnd, message_writer::MessageWriter};
use forgeline_types::{
    AgentError, AgentEvent, Completion, CompletionBuilder, Envelope, Text, private::KeptContent,
};

/// An answer as one body, or the error of a run without an answer.
pub(crate) type WholeAnswer = Result<String, AgentError>;

/// An encoder of a run as one whole answer of a protocol of vendors' clients. It sends nothing: its result is the [`WholeAnswer`].
pub(crate) struct AnswerWhole<P> {
    model: Text,
    pieces: AnswerPieces,
    /// The id of the run, and the time at which the answer began, in seconds since the Unix epoch; `None` before the first event.
    begun: Option<(Text, u64)>,
    content: KeptPieces,
    result: Arc<OnceLock<WholeAnswer>>,
    protocol: PhantomData<P>,
}

/// The pieces of an answer, and those before its current turn.
struct KeptPieces {
    builder: CompletionBuilder,
    before: Completion,
}

impl<P: FrontProtocol> AnswerWhole<P> {
    /// Returns an encoder that answers with the name of this model, after the results of these calls, and the place of its result.
    pub(crate) fn new(
        model: impl Into<Text>,
        sent: Vec<Text>,
    ) -> (Self, Arc<OnceLock<WholeAnswer>>) {
        let builder = CompletionBuilder::keeping(KeptContent::Parts);
        let content = KeptPieces { builder, before: Completion::default() };
        let (result, pieces) = (Arc::default(), AnswerPieces::new(P::BETWEEN_TURNS, sent));
        let (model, begun, protocol) = (model.into(), None, PhantomData);
        let encoder = Self { model, pieces, begun, content, result: Arc::clone(&result), protocol };
        (encoder, result)
    }

    /// Returns `true` once the result is known.
    pub(crate) fn has_ended(&self) -> bool {
        self.result.get().is_some()
    }

    /// Ends the answer while the run waits for the client.
    pub(crate) fn pause(&mut self, run_id: &str) {
        self.begun.get_or_insert_with(|| (run_id.into(), 0));
        let end = self.pieces.pause(&mut self.content);
        self.finish(end);
    }

    fn finish(&mut self, end: FrontAnswerEnd) {
        let reason = match end {
            FrontAnswerEnd::Finished(reason) => reason,
            FrontAnswerEnd::Failed(error) => return drop(self.result.set(Err(error))),
        };
        let builder = std::mem::take(&mut self.content.builder);
        let mut completion = builder.finish();
        completion.finish_reason = Some(reason);
        completion.usage = Some(self.pieces.usage().copied().unwrap_or_default());
        let (run_id, begun) = self.begun.clone().unwrap_or_default();
        let body = P::begin_answer(&run_id, self.model.clone(), begun).complete(&completion);
        // The first end counts.
        drop(self.result.set(Ok(body)));
    }
}

impl<P: FrontProtocol> EncodeMessages for AnswerWhole<P> {
    fn encode_event(&mut self, envelope: &Envelope, _: &mut MessageWriter<'_>) {
        self.begun.get_or_insert_with(|| (envelope.run_id.clone(), envelope.at / 1_000));
        if let Some(error) = self.pieces.see(envelope, &mut self.content).cloned() {
            self.finish(FrontAnswerEnd::Failed(error));
        }
    }

    fn encode_end(&mut self, end: &RunEnd, _: &mut MessageWriter<'_>) {
        self.begun.get_or_insert_with(|| (end.run_id.clone(), 0));
        let end = self.pieces.end(end);
        self.finish(end);
    }
}

impl ReceivePieces for KeptPieces {
    fn piece(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCallStart(start) = event {
            self.builder.place_call(start.index);
        }
        self.builder.push(event);
    }

    fn begin_turn(&mut self) {
        self.before = self.builder.completion.clone();
    }

    fn take_back(&mut self) -> bool {
        self.builder.completion = self.before.clone();
        true
    }
}
