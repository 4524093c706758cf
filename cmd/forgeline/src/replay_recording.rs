//! `forgeline replay` of a recording: one exchange, in its own reads and at its own pace.

use std::io::{Read, Write};

use anyhow::Context as _;
use forgeline::{
    llm::{
        Protocol, Provider as _, ProviderError, Request,
        transport::{HttpRequest, Transport as _},
    },
    types::Completion,
};
use forgeline_testing::{
    record::{Exchange, Recording},
    replay::{ChunkSizes, Pace, ReplayProvider, ReplayTransport},
};
use futures_util::StreamExt as _;

use crate::{
    exit::{UsageResult as _, note, usage},
    input::ChunkCuts,
    output::EventOutput,
    pipeline::{BodyPipeline, ReadOptions},
};

/// The first bytes of a recording; no body begins with them.
pub const START: &[u8] = b"{\"forgeline_recording\"";

/// One exchange of a recording and how it is played.
#[derive(Debug)]
pub struct RecordedTurn {
    recording: Recording,
    protocol: Option<Protocol>,
    sizes: Option<ChunkSizes>,
    pace: Pace,
}

impl RecordedTurn {
    /// Reads a recording and chooses its exchange number `turn`.
    ///
    /// # Errors
    ///
    /// A usage error when the file is not a valid recording or has no such exchange.
    pub fn parse(mut file: impl Read, turn: u32) -> anyhow::Result<Self> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).context("cannot read the recording")?;
        let recording = Recording::from_bytes(&bytes)
            .usage_context(|| "cannot play the recording".to_owned())?;
        if let Some(at) = recording.cut_at() {
            note(&format!(
                "the recording is truncated: its last exchange, at byte {at}, is left out"
            ));
        }
        let recording = recording.only(turn).ok_or_else(|| {
            let turns = recording.exchanges().iter().map(|exchange| exchange.turn.to_string());
            let turns = turns.collect::<Vec<_>>().join(", ");
            usage(format!("the recording has no turn {turn}; --turn takes one of: {turns}"))
        })?;
        Ok(Self { recording, protocol: None, sizes: None, pace: Pace::None })
    }

    /// Sets the protocol; `None` takes that of the recorded address.
    #[must_use]
    pub fn protocol(mut self, protocol: Option<Protocol>) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets the pieces; [`ChunkCuts::AsRead`] takes the recorded reads.
    #[must_use]
    pub fn cuts(mut self, cuts: ChunkCuts) -> Self {
        self.sizes = match cuts {
            ChunkCuts::AsRead => None,
            ChunkCuts::Whole => Some(ChunkSizes::Whole),
            ChunkCuts::Every(size) => Some(ChunkSizes::Bytes(size)),
            ChunkCuts::Sizes(sizes) => Some(ChunkSizes::Sizes(sizes.into())),
        };
        self
    }

    /// Sets the pace.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Plays it and writes its events as they are made.
    ///
    /// # Errors
    ///
    /// When writing fails. What failed when it was recorded is an event.
    pub fn play(
        self,
        reading: ReadOptions,
        output: &mut EventOutput<impl Write>,
    ) -> anyhow::Result<Completion> {
        let first = self.recording.exchanges().first();
        let protocol = self.protocol.or_else(|| first.map(Exchange::protocol));
        let mut pipeline = BodyPipeline::new(protocol.unwrap_or(Protocol::OpenAiChat), reading);
        let mut events = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let failed: anyhow::Result<Option<ProviderError>> = runtime.block_on(async {
            if let Some(error) = self.refusal().await {
                return Ok(Some(error));
            }
            let transport = ReplayTransport::new(self.recording).lenient().pace(self.pace);
            let transport = match self.sizes {
                Some(sizes) => transport.chunks(sizes),
                None => transport,
            };
            let mut received = 0;
            let mut response = match transport.send(HttpRequest::new("POST", "")).await {
                Ok(response) => response,
                Err(error) => return Ok(Some(error.into_provider_error(received))),
            };
            while let Some(piece) = response.body.next().await {
                let bytes = match piece {
                    Ok(bytes) => bytes,
                    Err(error) => return Ok(Some(error.into_provider_error(received))),
                };
                received += bytes.len() as u64;
                pipeline.push(&bytes, &mut |event| events.push(event));
                output.events(&mut events)?;
                output.flush()?;
            }
            Ok(None)
        });
        if let Some(error) = failed? {
            pipeline.broke(error, &mut |event| events.push(event));
        }
        let completion = pipeline.finish(&mut |event| events.push(event));
        output.events(&mut events)?;
        output.completion(&completion)?;
        Ok(completion)
    }

    /// Returns the error of an exchange with an error status.
    async fn refusal(&self) -> Option<ProviderError> {
        let response = self.recording.exchanges().first()?.response.as_ref()?;
        if (200..300).contains(&response.status) {
            return None;
        }
        let provider = ReplayProvider::recording(self.recording.clone()).lenient();
        provider.stream_completion(Request::prompt("")).await.err()
    }
}
