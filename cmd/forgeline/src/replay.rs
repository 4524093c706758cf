//! `forgeline replay`: a recorded response body through the whole pipeline.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use forgeline::{
    llm::{Protocol, parser::Dialect},
    types::{AgentEvent, Completion},
};
use forgeline_testing::replay::Pace;

use crate::{
    dialects::{thinking_dialect, tool_dialect},
    exit::{Exit, usage},
    hint,
    input::{ChunkReader, CutArgs, open},
    output::{EventOutput, stdout},
    pipeline::{BodyPipeline, ReadOptions},
    replay_recording::{RecordedTurn, START},
};

/// Bytes of the body that the protocol is guessed from.
const GUESS_BYTES: u64 = 16 << 10;

/// `forgeline replay`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, one field each")]
pub struct ReplayArgs {
    /// The recorded body, or a recording made with `--record`; - reads stdin
    file: PathBuf,
    /// Which exchange of a recording to play [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    turn: Option<u32>,
    /// The body's wire protocol [default: guessed from its first 16 KiB]
    #[arg(long, value_name = "NAME", value_parser = protocols())]
    protocol: Option<Protocol>,
    /// The model's id, such as Qwen/Qwen3-32B, which picks both dialects
    ///
    /// If its template opens the reasoning, the server has already dealt with that.
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Tool-call dialect: auto, none or a name listed by `forgeline dialects` [default: the model's, else auto]
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Thinking dialect: auto, none or a name listed by `forgeline dialects` [default: the model's, else auto]
    #[arg(long, value_name = "NAME")]
    thinking: Option<String>,
    /// How the body is cut
    #[command(flatten)]
    cut: CutArgs,
    /// Play at the recorded pace; needs a recording with times
    #[arg(long)]
    realtime: bool,
    /// Print events as JSON lines, then the completion
    #[arg(long)]
    json: bool,
}

impl ReplayArgs {
    fn reading(&self) -> anyhow::Result<ReadOptions> {
        let dialect = self.model.as_deref().map(Dialect::for_model).unwrap_or_default();
        // A server that separates reasoning from text has taken the opener's place already.
        let mut reading = ReadOptions { starts_inside: false, ..ReadOptions::for_dialect(dialect) };
        if let Some(name) = &self.dialect {
            reading.tools = tool_dialect(name)?;
        }
        if let Some(name) = &self.thinking {
            reading.thinking = thinking_dialect(name)?;
        }
        Ok(reading)
    }
}

/// Runs the command.
///
/// # Errors
///
/// Wrong names and files, and failing reads and writes. A broken body is an event and exit code 1.
pub fn replay(args: &ReplayArgs) -> anyhow::Result<Exit> {
    let reading = args.reading()?;
    let cuts = args.cut.cuts()?;
    let mut body = open(&args.file)?;
    let mut head = Vec::new();
    body.by_ref()
        .take(START.len() as u64)
        .read_to_end(&mut head)
        .context("cannot read the file")?;
    if head == START {
        let turn = RecordedTurn::parse(io::Cursor::new(head).chain(body), args.turn.unwrap_or(1))?;
        let pace = if args.realtime { Pace::Recorded } else { Pace::None };
        let mut output = EventOutput::new(stdout(args.json), args.json);
        let turn = turn.protocol(args.protocol).cuts(cuts).pace(pace);
        return Ok(conclude(&turn.play(reading, &mut output)?));
    }
    let file = args.file.display();
    if args.realtime {
        return Err(usage(format!("{file} has no recorded times; omit --realtime")));
    }
    if args.turn.is_some() {
        return Err(usage(format!("{file} is a single body; omit --turn")));
    }
    let protocol = match args.protocol {
        Some(protocol) => protocol,
        None => guess(body.as_mut(), &mut head)?,
    };
    let chunks = ChunkReader::new(io::Cursor::new(head).chain(body), cuts);
    let pipeline = BodyPipeline::new(protocol, reading);
    let mut output = EventOutput::new(stdout(args.json), args.json);
    Ok(conclude(&play(pipeline, chunks, &mut output)?))
}

/// Returns the exit of a completion, with advice about its error on stderr.
pub(crate) fn conclude(completion: &Completion) -> Exit {
    let Some(error) = &completion.error else { return Exit::Done };
    hint::tell(error);
    Exit::Failed
}

/// Reads a protocol's name.
fn protocols() -> impl TypedValueParser<Value = Protocol> {
    let names = Protocol::ALL.iter().map(|protocol| protocol.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Protocol>())
}

/// Reads the first bytes into `head` and guesses.
fn guess(body: &mut dyn Read, head: &mut Vec<u8>) -> anyhow::Result<Protocol> {
    body.take(GUESS_BYTES).read_to_end(head).context("cannot read the body")?;
    Ok(Protocol::guess(head))
}

/// Reads the body to its end and writes its events as they are made.
fn play(
    mut pipeline: BodyPipeline,
    mut chunks: ChunkReader<impl Read>,
    output: &mut EventOutput<impl Write>,
) -> anyhow::Result<Completion> {
    let (mut chunk, mut events) = (Vec::new(), Vec::new());
    while chunks.next_into(&mut chunk).context("cannot read the body")? {
        pipeline.push(&chunk, &mut |event| events.push(event));
        output.events(&mut events)?;
        if chunks.is_live() {
            output.flush()?;
        }
    }
    let completion = pipeline.finish(&mut |event| events.push(event));
    output.events(&mut events)?;
    output.completion(&completion)?;
    Ok(completion)
}

/// Decodes a body that is in memory, cut into these chunks.
pub fn decode_chunks<'a>(
    protocol: Protocol,
    reading: ReadOptions,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    emit: &mut impl FnMut(AgentEvent),
) -> Completion {
    let mut pipeline = BodyPipeline::new(protocol, reading);
    for chunk in chunks {
        pipeline.push(chunk, emit);
    }
    pipeline.finish(emit)
}
