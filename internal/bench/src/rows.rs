//! The rows of the parsers: which text in which pieces, and what has to come out of it.

use std::{hint::black_box, sync::Arc};

use forgeline::{
    llm::parser::{
        CallEnd, ParsedContent, ThinkingDialect, ThinkingParser, ThinkingPiece, ToolCallParser,
        ToolDialect,
    },
    types::Text,
};
use serde_json::Value;

use crate::{
    Result,
    callgrind::instructions_per_chunk,
    corpus::{self, Dice},
    gate::Report,
    grammars,
    measure::{allocations, per, side_by_side},
    parsers::floor,
};

/// Bytes of a text, and the number of texts that are timed, and whose instructions are counted.
const TEXT: usize = 8 << 10;
const TEXTS: u64 = 256;
const COUNTED_TEXTS: u64 = 8;

/// The stages that read the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stages {
    Thinking,
    Calls,
    Both,
    /// Both, in `auto`.
    Auto,
    /// The calls alone, in `auto`.
    AutoCalls,
    /// The calls alone, in this dialect.
    Dialect(&'static str),
}

/// Writes a text of about so many bytes.
pub(crate) type Writer = fn(&mut Dice, usize) -> String;

/// The text of a row.
#[derive(Clone, Copy)]
enum Content {
    /// A text, which has as many calls as it has openers of forge.
    Text(Writer),
    /// One call, written by the first, of a file that the second writes.
    Call(fn(&str) -> String, Writer),
}

use Content::{Call, Text as Of};

struct Row {
    gate: &'static str,
    stages: Stages,
    content: Content,
    /// Bytes of a piece.
    chunk: usize,
    /// Times `memchr`: must, aim.
    times: (f64, f64),
    /// Instructions a piece.
    instructions: f64,
}

const fn row(
    gate: &'static str,
    stages: Stages,
    content: Content,
    chunk: usize,
    times: (f64, f64),
    instructions: f64,
) -> Row {
    Row { gate, stages, content, chunk, times, instructions }
}

/// Prose and calls of prose are made up; Markdown and Rust are this repository's own.
#[rustfmt::skip]
const ROWS: [Row; 48] = [
    row("thinking_prose",     Stages::Thinking,  Of(corpus::prose),       16, (2.0, 1.5), 105.0),
    row("thinking_thinking",  Stages::Thinking,  Of(corpus::thinking),    16, (2.0, 1.5), 116.0),
    row("thinking_angles",    Stages::Thinking,  Of(corpus::angles),      16, (2.0, 1.8), 687.0),
    row("calls_prose",        Stages::Calls,     Of(corpus::prose),       16, (2.0, 1.5), 99.0),
    row("calls_angles",       Stages::Calls,     Of(corpus::angles),      16, (2.0, 1.8), 623.0),
    row("auto_prose",         Stages::Auto,      Of(corpus::prose),       16, (3.0, 2.0), 219.0),
    row("auto_angles",        Stages::Auto,      Of(corpus::angles),      16, (4.4, 4.0), 1675.0),
    row("auto_calls",         Stages::AutoCalls, Of(corpus::prose),       16, (2.0, 1.5), 103.0),
    row("calls_json",         Stages::Calls,     Of(corpus::json_text),   16, (3.0, 1.6), 157.0),
    row("calls_small",        Stages::Calls,     Of(corpus::small_calls), 16, (6.1, 3.0), 377.0),
    row("calls_xml",          Stages::Calls,     Of(corpus::xml_text),    16, (6.0, 3.0), 434.0),
    row("both_thinking_json", Stages::Both,      Of(thinking_and_calls),  16, (5.1, 3.0), 306.0),
    row("call_hermes",      Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::prose),      16, (3.0, 1.6), 149.0),
    row("call_qwen3_coder", Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::prose), 16, (3.9, 3.0), 245.0),
    row("call_kimi_k2",     Stages::Dialect("kimi-k2"),     Call(grammars::kimi_k2, corpus::prose),     16, (3.0, 1.6), 192.0),
    row("call_mistral",     Stages::Dialect("mistral"),     Call(grammars::mistral, corpus::prose),     16, (3.0, 1.6), 145.0),
    row("call_glm",         Stages::Dialect("glm"),         Call(grammars::glm, corpus::prose),         16, (4.3, 3.0), 237.0),
    row("call_dsml",        Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::prose),        16, (4.4, 3.0), 291.0),
    row("call_minimax_m2",  Stages::Dialect("minimax-m2"),  Call(grammars::minimax_m2, corpus::prose),  16, (4.1, 3.0), 256.0),
    row("call_gemma4",      Stages::Dialect("gemma4"),      Call(grammars::gemma4, corpus::prose),      16, (3.4, 3.0), 202.0),
    row("call_pythonic",    Stages::Dialect("pythonic"),    Call(grammars::pythonic, corpus::prose),    16, (3.1, 3.0), 182.0),
    row("markdown_thinking", Stages::Thinking, Of(corpus::markdown), 16, (6.1, 3.0), 250.0),
    row("markdown_calls",    Stages::Calls,    Of(corpus::markdown), 16, (6.6, 3.0), 240.0),
    row("markdown_auto",     Stages::Auto,     Of(corpus::markdown), 16, (13.5, 6.0), 566.0),
    row("source_auto",       Stages::Auto,     Of(corpus::source),   16, (10.1, 8.0), 495.0),
    row("source_json",        Stages::Calls,                  Call(corpus::json_call, corpus::source),     16, (5.6, 4.0), 338.0),
    row("source_xml",         Stages::Calls,                  Call(escaped_xml_call, corpus::source),      16, (11.9, 8.0), 649.0),
    row("source_hermes",      Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),      16, (5.1, 4.0), 260.0),
    row("source_qwen3_coder", Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source), 16, (9.0, 8.0), 516.0),
    row("source_glm",         Stages::Dialect("glm"),         Call(grammars::glm, corpus::source),         16, (8.0, 8.0), 511.0),
    row("source_dsml",        Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),        16, (9.3, 8.0), 563.0),
    row("source_minimax_m2",  Stages::Dialect("minimax-m2"),  Call(grammars::minimax_m2, corpus::source),  16, (8.8, 8.0), 515.0),
    row("source_gemma4",      Stages::Dialect("gemma4"),      Call(grammars::gemma4, corpus::source),      16, (8.0, 8.0), 461.0),
    row("source_pythonic",    Stages::Dialect("pythonic"),    Call(grammars::pythonic, corpus::source),    16, (8.0, 8.0), 356.0),
    row("prose_of_4",         Stages::Auto,                   Of(corpus::prose),                            4, (3.2, 3.0), 228.0),
    row("prose_of_64",        Stages::Auto,                   Of(corpus::prose),                           64, (4.5, 3.0), 456.0),
    row("markdown_of_4",      Stages::Calls,                  Of(corpus::markdown),                         4, (3.5, 3.0), 189.0),
    row("markdown_of_64",     Stages::Calls,                  Of(corpus::markdown),                        64, (10.8, 4.5), 620.0),
    row("json_of_4",          Stages::Calls,                  Call(corpus::json_call, corpus::source),      4, (3.8, 3.8), 255.0),
    row("json_of_64",         Stages::Calls,                  Call(corpus::json_call, corpus::source),     64, (7.3, 4.8), 757.0),
    row("xml_of_4",           Stages::Calls,                  Call(escaped_xml_call, corpus::source),       4, (5.4, 5.4), 301.0),
    row("xml_of_64",          Stages::Calls,                  Call(escaped_xml_call, corpus::source),      64, (16.8, 11.9), 1812.0),
    row("hermes_of_4",        Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),       4, (3.5, 3.5), 201.0),
    row("hermes_of_64",       Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),      64, (6.8, 5.3), 615.0),
    row("qwen3_coder_of_4",   Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source),  4, (5.6, 5.6), 278.0),
    row("qwen3_coder_of_64",  Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source), 64, (10.0, 9.2), 1310.0),
    row("dsml_of_4",          Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),         4, (5.1, 5.1), 305.0),
    row("dsml_of_64",         Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),        64, (12.4, 9.0), 1369.0),
];

fn thinking_and_calls(dice: &mut Dice, bytes: usize) -> String {
    corpus::thinking(dice, bytes / 2) + &corpus::json_text(dice, bytes / 2)
}

/// The same with entities where they have to stand; [`corpus::xml_call`] writes more where a `;` is.
fn escaped_xml_call(content: &str) -> String {
    const SEMICOLON: &str = "\u{37E}";
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace(';', SEMICOLON);
    corpus::xml_call(&content).replace(SEMICOLON, ";")
}

/// The rows of these names; all when none is given. Each in times of `memchr` and in instructions.
pub(crate) fn gates(report: &mut Report, names: &[&str]) -> Result<()> {
    for row in ROWS.iter().filter(|row| names.is_empty() || names.contains(&row.gate)) {
        let texts = row.texts(TEXTS);
        for (text, content) in &texts {
            if let Err(wrong) = row.check(text, content.as_deref()) {
                report.fail(row.gate, &wrong);
                break;
            }
        }
        let pieces: Vec<_> = texts.iter().map(|(text, _)| corpus::cut(text, row.chunk)).collect();
        let chunks = pieces.iter().map(|pieces| pieces.len() as u64).sum();
        let read = || read_all(&pieces, row.stages);
        let pair = side_by_side(|| floor(&pieces), read);
        report.add(row.gate, pair.ratio, row.times, row.unit());
        let scale = per(1, chunks);
        report.note(&format!(
            "{:.1} ns/piece, floor {:.1} ns",
            pair.ours_ns * scale,
            pair.floor_ns * scale
        ));
        let ((), count) = allocations(read);
        report.note(&format!("{:.1} allocations a text of {TEXT} bytes", per(count, TEXTS)));
        let counted = row.texts(COUNTED_TEXTS);
        let chunks: usize =
            counted.iter().map(|(text, _)| corpus::cut(text, row.chunk).len()).sum();
        let passes = instructions_per_chunk(&format!("{PREFIX}{}", row.gate), (1, 5))?;
        let each = passes.map(|all| all / per(chunks as u64, 1));
        let name: &'static str = format!("{}_instructions", row.gate).leak();
        report.add(name, each, (row.instructions, row.instructions), "instructions a piece");
    }
    Ok(())
}

const PREFIX: &str = "row:";

/// Reads the texts of the row that workload `name` names so many times; `None` for other names.
pub(crate) fn work(name: &str, passes: usize) -> Option<Result<()>> {
    let row = ROWS.iter().find(|row| name.strip_prefix(PREFIX) == Some(row.gate))?;
    let texts = row.texts(COUNTED_TEXTS);
    let pieces: Vec<_> = texts.iter().map(|(text, _)| corpus::cut(text, row.chunk)).collect();
    (0..passes).for_each(|_| read_all(&pieces, row.stages));
    Some(Ok(()))
}

/// The parser of the calls in `dialect`.
///
/// # Panics
///
/// Panics where there is no such dialect, which a row must not pass for.
pub(crate) fn parser_of(dialect: &str) -> ToolCallParser {
    let schemas: Arc<[_]> = Arc::from([(Text::from("write_file"), corpus::write_file_schema())]);
    let known = ToolDialect::by_name(dialect);
    assert!(known.is_some(), "no dialect is named {dialect:?}");
    ToolCallParser::new(&known.unwrap_or(ToolDialect::NONE)).schemas(schemas)
}

impl Row {
    /// Texts, and for a call the content of its file.
    fn texts(&self, count: u64) -> Vec<(String, Option<String>)> {
        let write = |seed| {
            let dice = &mut Dice::new(seed);
            match self.content {
                Of(write) => (write(dice, TEXT), None),
                Call(call, write) => {
                    let content = write(dice, TEXT - 200);
                    (call(&content), Some(content))
                }
            }
        };
        (1..=count).map(write).collect()
    }

    const fn unit(&self) -> &'static str {
        match (self.chunk, self.content) {
            (4, _) => "× memchr, 4-byte pieces",
            (64, _) => "× memchr, 64-byte pieces",
            (_, Of(_)) => "× memchr, 16-byte pieces",
            (_, Call(..)) => "× memchr, a call of 8 KiB in 16-byte pieces",
        }
    }

    /// Reads `text` as it is measured, and says what is wrong with the result.
    fn check(&self, text: &str, content: Option<&str>) -> std::result::Result<(), String> {
        let mut seen = Seen::default();
        let mut reader = Reader::new(self.stages);
        let (mut message, mut thinking) = (0, 0);
        for piece in corpus::cut(text, self.chunk) {
            reader.read(piece, &mut |piece| match piece {
                Read::Thinking(text) => thinking += text.len(),
                Read::Message(text) => message += text.len(),
                Read::Content(content) => seen.take(content),
            });
        }
        reader.finish(&mut |piece| match piece {
            Read::Thinking(text) => thinking += text.len(),
            Read::Message(text) => message += text.len(),
            Read::Content(content) => seen.take(content),
        });
        let want = match self.content {
            Of(_) if self.stages == Stages::Thinking => 0,
            // Markdown mentions it inside of lines.
            Of(_) => text.matches("\n<tool>").count(),
            Call(..) => 1,
        };
        if seen.calls != want {
            return Err(format!("{} calls came out of a text with {want}", seen.calls));
        }
        if let Some(content) = content {
            let arguments: Value =
                serde_json::from_str(&seen.arguments).map_err(|error| error.to_string())?;
            if arguments.get("content").and_then(Value::as_str) != Some(content) {
                return Err("the file of the call has another content".into());
            }
        }
        let has_calls = self.stages != Stages::Thinking;
        let fed =
            if matches!(self.stages, Stages::Both | Stages::Auto) { message } else { text.len() };
        if has_calls && seen.bytes != fed {
            return Err(format!("{} bytes came out of {fed}", seen.bytes));
        }
        // An excerpt of Markdown may begin behind the fence that hides a tag, which `auto` then takes.
        let may_think = text.contains("think") && self.stages != Stages::Calls;
        let has_to = may_think && text.starts_with("<thinking>");
        if has_to && thinking == 0 || !may_think && thinking > 0 {
            return Err(format!("{thinking} bytes of reasoning"));
        }
        Ok(())
    }
}

/// What came out of the calls' parser.
#[derive(Debug, Default)]
struct Seen {
    bytes: usize,
    calls: usize,
    arguments: String,
}

impl Seen {
    fn take(&mut self, content: ParsedContent<'_>) {
        match content {
            ParsedContent::Text(text)
            | ParsedContent::Marker(text)
            | ParsedContent::Inline(text)
            | ParsedContent::CallBody(text) => self.bytes += text.len(),
            ParsedContent::CallVerbatim(text) => {
                self.bytes += text.len();
                self.arguments.push_str(text);
            }
            ParsedContent::CallArguments(json) => self.arguments.push_str(json),
            ParsedContent::CallEnd { outcome: CallEnd::Complete, .. } => self.calls += 1,
            ParsedContent::OpenerInCode
            | ParsedContent::CallStart
            | ParsedContent::CallName(_)
            | ParsedContent::CallId(_)
            | ParsedContent::CallServer(_)
            | ParsedContent::CallSource(_)
            | ParsedContent::CallEnd { .. }
            | _ => {}
        }
    }
}

/// A piece of what the stages give.
enum Read<'a> {
    Thinking(&'a str),
    Message(&'a str),
    Content(ParsedContent<'a>),
}

/// The stages of one row.
struct Reader {
    stages: Stages,
    dialects: (ThinkingDialect, ToolDialect),
    thinking: ThinkingParser,
    calls: ToolCallParser,
}

impl Reader {
    fn new(stages: Stages) -> Self {
        let (reasoning, tools) = match stages {
            Stages::Auto | Stages::AutoCalls => (ThinkingDialect::AUTO, "auto"),
            Stages::Thinking | Stages::Calls | Stages::Both => (ThinkingDialect::FORGE, "forge"),
            Stages::Dialect(dialect) => (ThinkingDialect::FORGE, dialect),
        };
        let dialects = (reasoning, ToolDialect::by_name(tools).unwrap_or(ToolDialect::NONE));
        let thinking = ThinkingParser::new(&dialects.0, &dialects.1);
        Self { stages, dialects, thinking, calls: parser_of(tools) }
    }

    /// The same for another text.
    fn fresh(&self) -> Self {
        let dialects = self.dialects.clone();
        let thinking = ThinkingParser::new(&dialects.0, &dialects.1);
        Self { stages: self.stages, dialects, thinking, calls: self.calls.fresh() }
    }

    #[inline(always)]
    fn read(&mut self, text: &str, out: &mut impl FnMut(Read<'_>)) {
        let Self { stages, thinking, calls, .. } = self;
        match stages {
            Stages::Thinking => thinking.parse(text, &mut |piece| out(of(piece))),
            Stages::Calls | Stages::AutoCalls | Stages::Dialect(_) => {
                calls.parse(text, &mut |content| out(Read::Content(content)));
            }
            Stages::Both | Stages::Auto => thinking.parse(text, &mut |piece| {
                if let ThinkingPiece::Message(text) = piece {
                    calls.parse(text, &mut |content| out(Read::Content(content)));
                }
                out(of(piece));
            }),
        }
    }

    fn finish(mut self, out: &mut impl FnMut(Read<'_>)) {
        let Self { stages, thinking, calls, .. } = &mut self;
        if matches!(stages, Stages::Thinking | Stages::Both | Stages::Auto) {
            let feeds_calls = *stages != Stages::Thinking;
            thinking.flush(&mut |piece| {
                if let ThinkingPiece::Message(text) = piece
                    && feeds_calls
                {
                    calls.parse(text, &mut |content| out(Read::Content(content)));
                }
                out(of(piece));
            });
        }
        if *stages != Stages::Thinking {
            calls.flush(true, &mut |content| out(Read::Content(content)));
        }
    }
}

fn of(piece: ThinkingPiece<'_>) -> Read<'_> {
    match piece {
        ThinkingPiece::Thinking(text) => Read::Thinking(text),
        ThinkingPiece::Message(text) => Read::Message(text),
        ThinkingPiece::SectionEnd
        | ThinkingPiece::Inline
        | ThinkingPiece::CallOpener
        | ThinkingPiece::Prose
        | _ => Read::Message(""),
    }
}

/// Reads every text as a stream of its own.
pub(crate) fn read_all(texts: &[Vec<&str>], stages: Stages) {
    let first = Reader::new(stages);
    for pieces in texts {
        let mut reader = first.fresh();
        let out = &mut |read: Read<'_>| match read {
            Read::Thinking(text) | Read::Message(text) => _ = black_box(text),
            Read::Content(content) => _ = black_box(content),
        };
        for piece in pieces {
            reader.read(black_box(*piece), out);
        }
        reader.finish(out);
    }
}
