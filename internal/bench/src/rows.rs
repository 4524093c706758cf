//! The rows of the parsers: which text in which pieces, and what has to come out of it.

use std::cell::Cell;

use forgeline::llm::parser::{CallEnd, ParsedContent};
use serde_json::Value;

use crate::{
    Result,
    callgrind::instructions_per_chunk,
    corpus::{self, Dice},
    gate::Report,
    grammars,
    measure::{allocations, per, side_by_side},
    parsers::floor,
    stages::{Counts, Read, Reader, Stages, read_all},
};

/// Bytes of a text, and the number of texts that are timed, and whose instructions are counted.
const TEXT: usize = 8 << 10;
const TEXTS: u64 = 256;
const COUNTED_TEXTS: u64 = 8;

/// Writes a text of about so many bytes.
pub(crate) type Writer = fn(&mut Dice, usize) -> String;

/// A text, and for a call the content of its file.
type TextOf = (String, Option<String>);

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
    row("thinking_prose",     Stages::Thinking,  Of(corpus::prose),       16, (2.0, 1.5), 95.0),
    row("thinking_thinking",  Stages::Thinking,  Of(corpus::thinking),    16, (2.0, 1.5), 110.0),
    row("thinking_angles",    Stages::Thinking,  Of(corpus::angles),      16, (2.0, 1.8), 580.0),
    row("calls_prose",        Stages::Calls,     Of(corpus::prose),       16, (2.0, 1.5), 95.0),
    row("calls_angles",       Stages::Calls,     Of(corpus::angles),      16, (2.0, 1.8), 521.0),
    row("auto_prose",         Stages::Auto,      Of(corpus::prose),       16, (3.0, 2.0), 180.0),
    row("auto_angles",        Stages::Auto,      Of(corpus::angles),      16, (3.4, 4.0), 1437.0),
    row("auto_calls",         Stages::AutoCalls, Of(corpus::prose),       16, (2.0, 1.5), 99.0),
    row("calls_json",         Stages::Calls,     Of(corpus::json_text),   16, (3.0, 1.6), 144.0),
    row("calls_small",        Stages::Calls,     Of(corpus::small_calls), 16, (5.2, 3.0), 374.0),
    row("calls_xml",          Stages::Calls,     Of(corpus::xml_text),    16, (6.0, 3.0), 303.0),
    row("both_thinking_json", Stages::Both,      Of(thinking_and_calls),  16, (4.7, 3.0), 264.0),
    row("call_hermes",      Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::prose),      16, (2.4, 1.6), 136.0),
    row("call_qwen3_coder", Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::prose), 16, (3.9, 3.0), 203.0),
    row("call_kimi_k2",     Stages::Dialect("kimi-k2"),     Call(grammars::kimi_k2, corpus::prose),     16, (3.0, 1.6), 176.0),
    row("call_mistral",     Stages::Dialect("mistral"),     Call(grammars::mistral, corpus::prose),     16, (2.7, 1.6), 135.0),
    row("call_glm",         Stages::Dialect("glm"),         Call(grammars::glm, corpus::prose),         16, (3.8, 3.0), 192.0),
    row("call_dsml",        Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::prose),        16, (4.4, 3.0), 253.0),
    row("call_minimax_m2",  Stages::Dialect("minimax-m2"),  Call(grammars::minimax_m2, corpus::prose),  16, (4.1, 3.0), 215.0),
    row("call_gemma4",      Stages::Dialect("gemma4"),      Call(grammars::gemma4, corpus::prose),      16, (3.3, 3.0), 167.0),
    row("call_pythonic",    Stages::Dialect("pythonic"),    Call(grammars::pythonic, corpus::prose),    16, (3.0, 3.0), 190.0),
    row("markdown_thinking", Stages::Thinking, Of(corpus::markdown), 16, (3.4, 3.0), 149.0),
    row("markdown_calls",    Stages::Calls,    Of(corpus::markdown), 16, (3.3, 3.0), 145.0),
    row("markdown_auto",     Stages::Auto,     Of(corpus::markdown), 16, (7.7, 6.0), 334.0),
    row("source_auto",       Stages::Auto,     Of(corpus::source),   16, (5.3, 5.3), 306.0),
    row("source_json",        Stages::Calls,                  Call(corpus::json_call, corpus::source),     16, (4.0, 3.5), 226.0),
    row("source_xml",         Stages::Calls,                  Call(escaped_xml_call, corpus::source),      16, (8.0, 6.0), 354.0),
    row("source_hermes",      Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),      16, (4.0, 4.0), 203.0),
    row("source_qwen3_coder", Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source), 16, (7.0, 6.0), 326.0),
    row("source_glm",         Stages::Dialect("glm"),         Call(grammars::glm, corpus::source),         16, (6.6, 6.0), 318.0),
    row("source_dsml",        Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),        16, (7.5, 6.0), 371.0),
    row("source_minimax_m2",  Stages::Dialect("minimax-m2"),  Call(grammars::minimax_m2, corpus::source),  16, (7.0, 6.0), 326.0),
    row("source_gemma4",      Stages::Dialect("gemma4"),      Call(grammars::gemma4, corpus::source),      16, (6.4, 6.0), 295.0),
    row("source_pythonic",    Stages::Dialect("pythonic"),    Call(grammars::pythonic, corpus::source),    16, (8.0, 8.0), 374.0),
    row("prose_of_4",         Stages::Auto,                   Of(corpus::prose),                            4, (3.2, 3.0), 215.0),
    row("prose_of_64",        Stages::Auto,                   Of(corpus::prose),                           64, (3.7, 3.0), 408.0),
    row("markdown_of_4",      Stages::Calls,                  Of(corpus::markdown),                         4, (3.3, 3.0), 186.0),
    row("markdown_of_64",     Stages::Calls,                  Of(corpus::markdown),                        64, (8.2, 4.5), 534.0),
    row("json_of_4",          Stages::Calls,                  Call(corpus::json_call, corpus::source),      4, (3.8, 3.8), 171.0),
    row("json_of_64",         Stages::Calls,                  Call(corpus::json_call, corpus::source),     64, (5.8, 4.8), 563.0),
    row("xml_of_4",           Stages::Calls,                  Call(escaped_xml_call, corpus::source),       4, (5.2, 5.4), 208.0),
    row("xml_of_64",          Stages::Calls,                  Call(escaped_xml_call, corpus::source),      64, (13.0, 11.9), 1095.0),
    row("hermes_of_4",        Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),       4, (3.5, 3.5), 151.0),
    row("hermes_of_64",       Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),      64, (6.8, 5.3), 534.0),
    row("qwen3_coder_of_4",   Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source),  4, (4.9, 5.6), 218.0),
    row("qwen3_coder_of_64",  Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source), 64, (8.1, 9.2), 881.0),
    row("dsml_of_4",          Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),         4, (5.1, 5.1), 246.0),
    row("dsml_of_64",         Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),        64, (9.5, 9.0), 956.0),
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
pub(crate) fn gates(report: &mut Report, names: &[&str]) {
    for row in ROWS.iter().filter(|row| names.is_empty() || names.contains(&row.gate)) {
        let ratio = row.measure(report);
        report.take(row.gate, ratio, row.times, row.unit());
        let texts = row.texts(COUNTED_TEXTS);
        let chunks: usize = texts.iter().map(|(text, _)| corpus::cut(text, row.chunk).len()).sum();
        let passes = instructions_per_chunk(&format!("{PREFIX}{}", row.gate), (1, 5));
        let each = passes.map(|passes| passes.map(|all| all / per(chunks as u64, 1)));
        let name: &'static str = format!("{}_instructions", row.gate).leak();
        report.take(name, each, (row.instructions, row.instructions), "instructions a piece");
    }
}

const PREFIX: &str = "row:";

/// Reads the texts of the row that workload `name` names so many times; `None` for other names.
pub(crate) fn work(name: &str, passes: usize) -> Option<Result<()>> {
    let row = ROWS.iter().find(|row| name.strip_prefix(PREFIX) == Some(row.gate))?;
    Some(row.work(passes))
}

impl Row {
    /// Returns the times of `memchr` that the stages take, whose results count in every run.
    fn measure(&self, report: &Report) -> Result<f64> {
        let texts = self.texts(TEXTS);
        let (pieces, want) = self.checked(&texts)?;
        let angles = texts.iter().map(|(text, _)| text.matches('<').count()).sum::<usize>();
        let is_right = Cell::new(true);
        let read = || {
            let is_same = read_all(&pieces, self.stages).is_ok_and(|counts| counts == want);
            is_right.set(is_right.get() && is_same);
        };
        let find = || is_right.set(is_right.get() && floor(&pieces) == angles);
        let pair = side_by_side(find, read);
        let ((), count) = allocations(read);
        if !is_right.get() {
            return Err("a run that was measured gave something else".into());
        }
        let scale = per(1, pieces.iter().map(|pieces| pieces.len() as u64).sum());
        report.note(&format!(
            "{:.1} ns/piece, floor {:.1} ns; {:.1} allocations a text of {TEXT} bytes",
            pair.ours_ns * scale,
            pair.floor_ns * scale,
            per(count, TEXTS)
        ));
        Ok(pair.ratio)
    }

    fn work(&self, passes: usize) -> Result<()> {
        let texts = self.texts(COUNTED_TEXTS);
        let (pieces, want) = self.checked(&texts)?;
        for _ in 0..passes {
            let counts = read_all(&pieces, self.stages)?;
            if counts != want {
                return Err(format!("{counts:?} came out, not {want:?}").into());
            }
        }
        Ok(())
    }

    /// Cuts the texts, and counts what must come out of them; fails where something else does.
    fn checked<'t>(&self, texts: &'t [TextOf]) -> Result<(Vec<Vec<&'t str>>, Counts)> {
        let mut want = Counts::default();
        for (text, content) in texts {
            want += self.check(text, content.as_deref())?;
        }
        Ok((texts.iter().map(|(text, _)| corpus::cut(text, self.chunk)).collect(), want))
    }

    /// Texts, and for a call the content of its file.
    fn texts(&self, count: u64) -> Vec<TextOf> {
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

    /// Reads `text` as it is measured, and counts what came out, or says what is wrong with it.
    fn check(&self, text: &str, content: Option<&str>) -> Result<Counts> {
        let mut seen = Seen::default();
        let mut reader = Reader::new(self.stages)?;
        let out = &mut |piece: Read<'_>| match piece {
            Read::Thinking(text) => seen.thinking.push_str(text),
            Read::Message(text) => seen.message.push_str(text),
            Read::Content(content) => seen.take(content),
        };
        for piece in corpus::cut(text, self.chunk) {
            reader.read(piece, out);
        }
        reader.finish(out);
        seen.check(self, text, content)?;
        let bytes = seen.bytes + seen.message.len() + seen.thinking.len();
        Ok(Counts { bytes, calls: seen.calls })
    }
}

/// What came out of the stages.
#[derive(Debug, Default)]
struct Seen {
    thinking: String,
    message: String,
    /// Of the calls' parser, as what follows is.
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

    /// Fails where this is not what `row` must read in `text`, a call of which has this file.
    fn check(&self, row: &Row, text: &str, content: Option<&str>) -> Result<()> {
        let (has_thinking, has_calls) = row.stages.parts();
        let want = match row.content {
            Of(_) if !has_calls => 0,
            // Markdown mentions it inside of lines.
            Of(_) => text.matches("\n<tool>").count(),
            Call(..) => 1,
        };
        if self.calls != want {
            return Err(format!("{} calls came out of a text with {want}", self.calls).into());
        }
        if let Some(content) = content {
            let arguments: Value = serde_json::from_str(&self.arguments)?;
            if arguments.get("content").and_then(Value::as_str) != Some(content) {
                return Err("the file of the call has another content".into());
            }
        }
        let fed = if has_thinking { self.message.len() } else { text.len() };
        if has_calls && self.bytes != fed {
            return Err(format!("{} bytes came out of {fed}", self.bytes).into());
        }
        if !has_thinking {
            return Ok(());
        }
        // An excerpt of Markdown may begin behind the fence that hides a tag, which `auto` then takes.
        let has_to = text.starts_with("<thinking>");
        let may_think = text.contains("think");
        if has_to == self.thinking.is_empty() && (has_to || !may_think) {
            return Err(format!("{} bytes of reasoning", self.thinking.len()).into());
        }
        let given = self.thinking.len() + self.message.len();
        let is_whole = if has_to || !may_think {
            without_tags(text) == without_tags(&self.thinking) + &without_tags(&self.message)
        } else {
            given <= text.len() && given + MOST_TAGS > text.len()
        };
        if is_whole { Ok(()) } else { Err(format!("{given} bytes of {}", text.len()).into()) }
    }
}

/// Bytes of the tags of reasoning, and of the line ends around them, in an excerpt of Markdown.
const MOST_TAGS: usize = 64;

/// The text without the tags of reasoning and without whitespace, some of which is theirs.
fn without_tags(text: &str) -> String {
    let text = text.replace("<thinking>", "").replace("</thinking>", "");
    text.split_whitespace().collect()
}
