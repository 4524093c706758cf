//! An answer as a stream of server-sent events.

use super::{
    FrontProtocol,
    answer_pieces::{AnswerPieces, FrontAnswerEnd, ReceivePieces},
};
use crate::encode::{EncodeMessages, RunEnd, message_writer::MessageWriter};
use forgeline_types::{AgentError, AgentEvent, Envelope, ErrorEvent, Text};

/// An encoder of a run as one streamed answer of a protocol of vendors' clients. Its response ends while the run waits for results of calls at the client.
#[derive(Debug, Clone)]
pub(crate) struct AnswerStream<P> {
    model: Text,
    pieces: AnswerPieces,
    /// `None` before the first event.
    writer: Option<P>,
    counts: UsageFrames,
    phase: StreamPhase,
}

/// The frames with the token counts at the end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageFrames {
    Shown,
    Hidden,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamPhase {
    /// The client has nothing of the answer of the turn.
    Nothing,
    /// The client has a part of the answer of the turn.
    Sent,
    /// Nothing follows.
    Ended,
}

impl<P: FrontProtocol> AnswerStream<P> {
    /// Returns an encoder that answers with the name of this model.
    pub(crate) fn new(model: impl Into<Text>) -> Self {
        let pieces = AnswerPieces::new(P::BETWEEN_TURNS, Vec::new());
        let (counts, phase) = (UsageFrames::Shown, StreamPhase::Nothing);
        Self { model: model.into(), pieces, writer: None, counts, phase }
    }

    /// Begins the answer after the results of these calls, which the client sent.
    pub(crate) fn after(mut self, calls: Vec<Text>) -> Self {
        self.pieces = AnswerPieces::new(P::BETWEEN_TURNS, calls);
        self
    }

    /// Sets whether the token counts are sent at the end.
    pub(crate) fn include_usage(mut self, is_shown: bool) -> Self {
        self.counts = if is_shown { UsageFrames::Shown } else { UsageFrames::Hidden };
        self
    }

    /// Returns `true` once nothing follows.
    pub(crate) fn has_ended(&self) -> bool {
        self.phase == StreamPhase::Ended
    }

    /// Ends the response while the run waits for the client.
    pub(crate) fn pause(&mut self, run_id: &str, out: &mut MessageWriter<'_>) {
        self.begin(run_id, 0);
        let Some(writer) = self.writer.as_mut().filter(|_| self.phase != StreamPhase::Ended) else {
            return;
        };
        let end = self.pieces.pause(&mut StreamedPieces { writer, phase: &mut self.phase, out });
        self.finish(&end, out);
    }

    fn begin(&mut self, run_id: &str, at_ms: u64) {
        if self.writer.is_none() {
            self.writer = Some(P::begin_answer(run_id, self.model.clone(), at_ms / 1_000));
        }
    }

    fn finish(&mut self, end: &FrontAnswerEnd, out: &mut MessageWriter<'_>) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.phase != StreamPhase::Ended) else {
            return;
        };
        let frames = match end {
            FrontAnswerEnd::Finished(reason) => {
                let is_shown = self.counts == UsageFrames::Shown;
                let usage = self.pieces.usage().copied().unwrap_or_default();
                writer.last_frames(reason, is_shown.then_some(&usage))
            }
            FrontAnswerEnd::Failed(error) => failure(writer, error),
        };
        out.send_frames(&frames);
        self.phase = StreamPhase::Ended;
    }
}

/// Returns the frames of an error, after which nothing follows.
fn failure(writer: &mut impl FrontProtocol, error: &AgentError) -> String {
    writer.frames(&AgentEvent::Error(ErrorEvent::new(error.clone())))
}

impl<P: FrontProtocol> EncodeMessages for AnswerStream<P> {
    fn encode_event(&mut self, envelope: &Envelope, out: &mut MessageWriter<'_>) {
        self.begin(&envelope.run_id, envelope.at);
        let Some(writer) = self.writer.as_mut().filter(|_| self.phase != StreamPhase::Ended) else {
            return;
        };
        let mut pieces = StreamedPieces { writer, phase: &mut self.phase, out };
        if let Some(error) = self.pieces.see(envelope, &mut pieces).cloned() {
            self.finish(&FrontAnswerEnd::Failed(error), out);
        }
    }

    fn encode_end(&mut self, end: &RunEnd, out: &mut MessageWriter<'_>) {
        self.begin(&end.run_id, 0);
        let end = self.pieces.end(end);
        self.finish(&end, out);
    }
}

/// Pieces that are sent at once.
struct StreamedPieces<'s, 'w, P> {
    writer: &'s mut P,
    phase: &'s mut StreamPhase,
    out: &'s mut MessageWriter<'w>,
}

impl<P: FrontProtocol> ReceivePieces for StreamedPieces<'_, '_, P> {
    fn piece(&mut self, event: &AgentEvent) {
        let frames = self.writer.frames(event);
        if !frames.is_empty() {
            *self.phase = StreamPhase::Sent;
            self.out.send_frames(&frames);
        }
    }

    fn begin_turn(&mut self) {
        *self.phase = StreamPhase::Nothing;
    }

    fn take_back(&mut self) -> bool {
        *self.phase == StreamPhase::Nothing
    }
}
