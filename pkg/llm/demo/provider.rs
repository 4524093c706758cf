//! The provider of the demo model.

use std::time::Duration;

use tokio_stream::StreamExt as _;

use super::{
    planner::{self, DemoReply},
    situation::DemoSituation,
};
use crate::{
    ChunkStream, ContentTyper, Provider, ProviderFuture, Request, StreamChunk, ToolCallDelta,
};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{Capabilities, FinishReason, ModelInfo, UsageInfo};

/// Sizes of the pieces that the demo model writes, in characters: irregular, like those of a real model.
const PIECES: [usize; 10] = [3, 7, 2, 11, 5, 1, 8, 4, 6, 13];

/// A provider that follows deterministic rules in place of a language model, offline and without a key.
///
/// The demo model reads the prompt and the list of tools, reasons, writes tool calls into its text as
/// a small local model does, and answers from their results. The same conversation always gives the
/// same answer. Four bytes count as one token.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::llm::{Provider as _, Request, demo::DemoProvider};
///
/// let answer = DemoProvider::new().complete(Request::prompt("Who are you?")).await?;
/// assert!(answer.text.contains("no language model"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct DemoProvider {
    info: ModelInfo,
    pace: Option<Duration>,
}

impl DemoProvider {
    /// Creates a demo model that answers without pauses.
    #[must_use]
    pub fn new() -> Self {
        let capabilities = Capabilities::default().streaming(true).thinking(true);
        Self { info: ModelInfo::new("demo", "demo").capabilities(capabilities), pace: None }
    }

    /// Sets the pause between chunks, for interactive demonstrations. Default: none.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = (!pace.is_zero()).then_some(pace);
        self
    }
}

impl Default for DemoProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for DemoProvider {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let pace = self.pace;
        Box::pin(async move {
            let situation = DemoSituation::from_request(&request);
            let chunks =
                write(&planner::next(&situation), situation.native, prompt_bytes(&request));
            let chunks = tokio_stream::iter(chunks.into_iter().map(Ok));
            Ok(match pace {
                Some(pace) => Box::pin(chunks.throttle(pace)) as ChunkStream,
                None => Box::pin(chunks),
            })
        })
    }
}

/// Writes `reply` as the chunks of a model's stream.
fn write(reply: &DemoReply, native: bool, prompt_bytes: usize) -> Vec<StreamChunk> {
    let mut text = format!("<thinking>{}</thinking>\n\n{}", reply.thinking, reply.text);
    let mut finish = FinishReason::Stop;
    let mut deltas = Vec::new();
    if let Some((name, arguments)) = &reply.call {
        if native {
            finish = FinishReason::ToolCalls;
            let arguments = arguments.to_string();
            deltas.push(ToolCallDelta::new(0).name(name.as_str()));
            deltas.extend(pieces(&arguments).map(|piece| ToolCallDelta::new(0).arguments(piece)));
        } else {
            let call = serde_json::json!({ "tool_name": name, "arguments": arguments });
            text = format!("{}\n<tool>\n{call}\n</tool>\n", text.trim_end());
        }
    }
    let mut chunks = Vec::new();
    let mut typer = ContentTyper::new(&ThinkingDialect::AUTO, &ToolDialect::AUTO);
    let mut emit = |chunk| chunks.push(chunk);
    for piece in pieces(&text) {
        typer.push(StreamChunk::message(piece), &mut emit);
    }
    for delta in deltas {
        typer.push(StreamChunk::calls(vec![delta]), &mut emit);
    }
    let mut end = StreamChunk::end(finish);
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).ok();
    let mut usage = UsageInfo::default();
    usage.input_tokens = tokens(prompt_bytes);
    usage.output_tokens = tokens(text.len());
    end.usage = Some(usage);
    typer.push(end, &mut emit);
    typer.finish(&mut emit);
    chunks
}

/// Splits text into irregular pieces.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut sizes = PIECES.into_iter().cycle();
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = sizes.next().filter(|_| !rest.is_empty())?;
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

fn prompt_bytes(request: &Request) -> usize {
    let system = request.system.as_deref().map_or(0, str::len);
    system + request.messages.iter().map(|message| message.text().len()).sum::<usize>()
}
