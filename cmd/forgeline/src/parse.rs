//! `forgeline parse`: the text a model wrote, from stdin.

use std::{
    io::{self, IsTerminal as _, Read, Write},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use forgeline::{
    llm::parser::Dialect,
    types::{AgentEvent, Completion, FinishReason, Text},
};

use crate::{
    batch,
    dialects::{thinking_dialect, tool_dialect},
    exit::{Exit, note},
    input::{ChunkReader, CutArgs},
    output::{EventOutput, stdout},
    pipeline::ReadOptions,
    replay::conclude,
    tools_file::read_tools,
};

/// The error of unreadable stdin.
pub(crate) const STDIN: &str =
    "cannot read the text on stdin; pipe it in, or redirect a file with <";

/// `forgeline parse`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, one field each")]
pub struct ParseArgs {
    /// How the text is read
    #[command(flatten)]
    pub text: TextArgs,
    /// How stdin is cut
    #[command(flatten)]
    cut: CutArgs,
    /// JSON file with a tool list in OpenAI's format, which gives the types of arguments written as XML
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Print events as JSON lines, then the completion
    #[arg(long)]
    json: bool,
    /// Read one JSON object per line, write one completion per line
    ///
    /// The flags are the defaults for members that a line omits.
    #[arg(long, conflicts_with = "json", long_help = BATCH_HELP)]
    batch: bool,
}

const BATCH_HELP: &str = r#"Read one JSON object per line, write one completion per line

A line is {"id","text"} and may have "model", "dialect", "thinking", "chunk_bytes", "chunks", "tools", "prompt_tail" and "finish"; the flags are the defaults for members that a line omits."#;

/// The dialects of a text, as names.
#[derive(Debug, Clone, Default, Args)]
pub struct TextArgs {
    /// The model's id, such as Qwen/Qwen3-32B, which picks both dialects
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,
    /// Tool-call dialect: auto, none or a name listed by `forgeline dialects` [default: the model's, else auto]
    #[arg(long, value_name = "NAME")]
    pub dialect: Option<String>,
    /// Thinking dialect: auto, none or a name listed by `forgeline dialects` [default: the model's, else auto]
    #[arg(long, value_name = "NAME")]
    pub thinking: Option<String>,
    /// The end of the prompt, which decides whether the text starts inside thinking [default: the end of the model's template]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt_tail: Option<String>,
    /// Why the model stopped, such as stop or length
    #[arg(long, value_name = "REASON")]
    pub finish: Option<String>,
}

impl TextArgs {
    /// Looks up the names.
    ///
    /// # Errors
    ///
    /// A usage error for a name that is unknown.
    pub fn reading(&self) -> anyhow::Result<ReadOptions> {
        let dialect = self.model.as_deref().map(Dialect::for_model);
        let mut reading = ReadOptions::for_dialect(dialect.unwrap_or_default());
        if let Some(name) = &self.dialect {
            reading.tools = tool_dialect(name)?;
        }
        if let Some(name) = &self.thinking {
            reading.thinking = thinking_dialect(name)?;
            // It replaces all that the model's name says about thinking.
            reading.starts_inside = false;
        }
        reading.prompt_tail.clone_from(&self.prompt_tail);
        Ok(reading)
    }

    /// Returns the reason of the model's stop.
    #[must_use]
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.finish.as_deref().map(|word| FinishReason::from(Text::from(word)))
    }
}

/// Runs the command.
///
/// # Errors
///
/// Wrong names and files, and failing reads and writes. The text itself never fails; one past the
/// limits is an event and exit code 1.
pub fn parse(args: &ParseArgs) -> anyhow::Result<Exit> {
    let mut reading = args.text.reading()?;
    if let Some(path) = &args.tools {
        reading.schemas = read_tools(path)?;
    }
    let cuts = args.cut.cuts()?;
    if io::stdin().is_terminal() {
        note("reading the text from the terminal; Ctrl-D at the start of a line ends it");
    }
    if args.batch {
        let defaults =
            batch::BatchDefaults { text: args.text.clone(), schemas: reading.schemas, cuts };
        return batch::run(&defaults, io::stdin().lock(), &mut stdout(true));
    }
    let mut output = EventOutput::new(stdout(args.json), args.json);
    let chunks = ChunkReader::new(io::stdin().lock(), cuts);
    let completion = parse_stream(reading, args.text.finish_reason(), chunks, &mut output)?;
    Ok(conclude(&completion))
}

/// Reads a text to its end and writes its events as they are made.
fn parse_stream(
    reading: ReadOptions,
    finish: Option<FinishReason>,
    mut chunks: ChunkReader<impl Read>,
    output: &mut EventOutput<impl Write>,
) -> anyhow::Result<Completion> {
    let mut pipeline = reading.text(finish);
    let (mut chunk, mut events) = (Vec::new(), Vec::new());
    while chunks.next_into(&mut chunk).context(STDIN)? {
        pipeline.push_bytes(&chunk, |event| events.push(event));
        output.events(&mut events)?;
        if chunks.is_live() {
            output.flush()?;
        }
    }
    let completion = pipeline.finish(|event| events.push(event));
    output.events(&mut events)?;
    output.completion(&completion)?;
    Ok(completion)
}

/// Reads a text that is in memory, cut into these chunks.
pub fn parse_chunks<'a>(
    reading: ReadOptions,
    finish: Option<FinishReason>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    emit: &mut impl FnMut(AgentEvent),
) -> Completion {
    let mut pipeline = reading.text(finish);
    for chunk in chunks {
        pipeline.push_bytes(chunk, &mut *emit);
    }
    pipeline.finish(emit)
}
