//! The rows of the parsers: which text in which pieces, and what has to come out of it.

use std::{cell::Cell, collections::HashMap};

use crate::{
    Result,
    callgrind::instructions_per_chunk,
    corpus::{self, Dice},
    gate::Report,
    grammars,
    measure::{Pair, allocations, per, ratios_of_pairs, side_by_side},
    parsers::floor,
    row_checks::Seen,
    stages::{Counts, Read, Reader, Stages, read_all},
};

/// Bytes of a text, and the number of texts that are timed, and whose instructions are counted.
const TEXT: usize = 8 << 10;
const TEXTS: u64 = 256;
const COUNTED_TEXTS: u64 = 8;

/// Writes a text of about so many bytes.
pub(crate) type Writer = fn(&mut Dice, usize) -> String;

/// A text, and for a call the content of its file.
pub(crate) type TextOf = (String, Option<String>);

/// The text of a row.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// A text, which has as many calls as it has openers of forge.
    Text(Writer),
    /// One call, written by the first, of a file that the second writes.
    Call(fn(&str) -> String, Writer),
}

use Content::{Call, Text as Of};

#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) gate: &'static str,
    pub(crate) stages: Stages,
    pub(crate) content: Content,
    /// Bytes of a piece.
    chunk: usize,
    /// Times `memchr`: must, aim.
    pub(crate) times: (f64, f64),
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
pub(crate) const ROWS: [Row; 49] = [
    row("thinking_prose",     Stages::Thinking,  Of(corpus::prose),       16, (2.0, 1.5), 155.0),
    row("thinking_thinking",  Stages::Thinking,  Of(corpus::thinking),    16, (2.3, 1.5), 163.0),
    row("thinking_angles",    Stages::Thinking,  Of(corpus::angles),      16, (2.0, 0.6), 562.0),
    row("calls_prose",        Stages::Calls,     Of(corpus::prose),       16, (2.3, 1.5), 162.0),
    row("calls_angles",       Stages::Calls,     Of(corpus::angles),      16, (2.0, 0.6), 560.0),
    row("auto_prose",         Stages::Auto,      Of(corpus::prose),       16, (2.6, 1.5), 155.0),
    row("auto_angles",        Stages::Auto,      Of(corpus::angles),      16, (2.0, 1.5), 667.0),
    row("apart_prose",        Stages::Apart,     Of(corpus::prose),       16, (3.7, 2.0), 306.0),
    row("auto_calls",         Stages::AutoCalls, Of(corpus::prose),       16, (2.0, 1.5), 163.0),
    row("calls_json",         Stages::Calls,     Of(corpus::json_text),   16, (3.0, 1.6), 180.0),
    row("calls_small",        Stages::Calls,     Of(corpus::small_calls), 16, (5.9, 3.0), 365.0),
    row("calls_xml",          Stages::Calls,     Of(corpus::xml_text),    16, (4.1, 3.0), 292.0),
    row("both_thinking_json", Stages::Both,      Of(thinking_and_calls),  16, (3.0, 2.6), 188.0),
    row("call_hermes",      Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::prose),      16, (2.4, 1.6), 175.0),
    row("call_qwen3_coder", Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::prose), 16, (3.9, 3.0), 257.0),
    row("call_kimi_k2",     Stages::Dialect("kimi-k2"),     Call(grammars::kimi_k2, corpus::prose),     16, (3.0, 1.6), 213.0),
    row("call_mistral",     Stages::Dialect("mistral"),     Call(grammars::mistral, corpus::prose),     16, (2.7, 1.6), 183.0),
    row("call_glm",         Stages::Dialect("glm"),         Call(grammars::glm, corpus::prose),         16, (3.8, 3.0), 242.0),
    row("call_dsml",        Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::prose),        16, (4.4, 3.0), 305.0),
    row("call_minimax_m2",  Stages::Dialect("minimax-m2"),  Call(grammars::minimax_m2, corpus::prose),  16, (4.4, 3.0), 272.0),
    row("call_gemma4",      Stages::Dialect("gemma4"),      Call(grammars::gemma4, corpus::prose),      16, (3.3, 3.0), 210.0),
    row("call_pythonic",    Stages::Dialect("pythonic"),    Call(grammars::pythonic, corpus::prose),    16, (3.0, 3.0), 199.0),
    row("markdown_thinking", Stages::Thinking, Of(corpus::markdown), 16, (5.9, 3.0), 243.0),
    row("markdown_calls",    Stages::Calls,    Of(corpus::markdown), 16, (5.5, 3.0), 251.0),
    row("markdown_auto",     Stages::Auto,     Of(corpus::markdown), 16, (6.1, 4.5), 250.0),
    row("source_auto",       Stages::Auto,     Of(corpus::source),   16, (4.9, 3.1), 270.0),
    row("source_json",        Stages::Calls,                  Call(corpus::json_call, corpus::source),     16, (4.8, 3.5), 325.0),
    row("source_xml",         Stages::Calls,                  Call(escaped_xml_call, corpus::source),      16, (7.4, 5.0), 423.0),
    row("source_hermes",      Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),      16, (4.8, 4.0), 246.0),
    row("source_qwen3_coder", Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source), 16, (7.0, 6.0), 474.0),
    row("source_glm",         Stages::Dialect("glm"),         Call(grammars::glm, corpus::source),         16, (6.6, 6.0), 458.0),
    row("source_dsml",        Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),        16, (7.5, 6.0), 514.0),
    row("source_minimax_m2",  Stages::Dialect("minimax-m2"),  Call(grammars::minimax_m2, corpus::source),  16, (7.0, 6.0), 474.0),
    row("source_gemma4",      Stages::Dialect("gemma4"),      Call(grammars::gemma4, corpus::source),      16, (6.4, 6.0), 395.0),
    row("source_pythonic",    Stages::Dialect("pythonic"),    Call(grammars::pythonic, corpus::source),    16, (8.0, 8.0), 274.0),
    row("prose_of_4",         Stages::Auto,                   Of(corpus::prose),                            4, (2.2, 1.5), 177.0),
    row("prose_of_64",        Stages::Auto,                   Of(corpus::prose),                           64, (4.0, 1.8), 406.0),
    row("markdown_of_4",      Stages::Calls,                  Of(corpus::markdown),                         4, (4.2, 3.0), 219.0),
    row("markdown_of_64",     Stages::Calls,                  Of(corpus::markdown),                        64, (10.1, 4.3), 706.0),
    row("json_of_4",          Stages::Calls,                  Call(corpus::json_call, corpus::source),      4, (3.8, 3.8), 272.0),
    row("json_of_64",         Stages::Calls,                  Call(corpus::json_call, corpus::source),     64, (5.8, 4.8), 690.0),
    row("xml_of_4",           Stages::Calls,                  Call(escaped_xml_call, corpus::source),       4, (4.2, 2.8), 249.0),
    row("xml_of_64",          Stages::Calls,                  Call(escaped_xml_call, corpus::source),      64, (10.2, 9.0), 1211.0),
    row("hermes_of_4",        Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),       4, (3.5, 3.5), 224.0),
    row("hermes_of_64",       Stages::Dialect("hermes"),      Call(grammars::hermes, corpus::source),      64, (6.8, 5.3), 539.0),
    row("qwen3_coder_of_4",   Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source),  4, (4.9, 5.6), 266.0),
    row("qwen3_coder_of_64",  Stages::Dialect("qwen3-coder"), Call(grammars::qwen3_coder, corpus::source), 64, (8.1, 9.2), 1332.0),
    row("dsml_of_4",          Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),         4, (5.1, 5.1), 295.0),
    row("dsml_of_64",         Stages::Dialect("dsml"),        Call(grammars::dsml, corpus::source),        64, (9.5, 9.0), 1412.0),
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

/// The rows of long pieces, each with that of the same text in pieces of sixteen bytes.
const LONGER: [(&str, &str); 7] = [
    ("prose_of_64", "auto_prose"),
    ("markdown_of_64", "markdown_calls"),
    ("json_of_64", "source_json"),
    ("xml_of_64", "source_xml"),
    ("hermes_of_64", "source_hermes"),
    ("qwen3_coder_of_64", "source_qwen3_coder"),
    ("dsml_of_64", "source_dsml"),
];

/// The times of `memchr` in long pieces, in those of short ones: must, aim.
const LONGER_TIMES: (f64, f64) = (2.3, 1.2);
/// The time of a byte in long pieces, in that of a byte in short ones: must, aim.
const LONGER_BYTE: (f64, f64) = (1.0, 0.5);
/// The instructions of a byte in long pieces, in those of a byte in short ones: must, aim.
const LONGER_INSTRUCTIONS: (f64, f64) = (1.0, 0.5);

/// The rows of these names; all when none is given. Each in times of `memchr` and in instructions.
pub(crate) fn gates(report: &mut Report, names: &[&str]) {
    let is_wanted = |name: &str| names.is_empty() || names.contains(&name);
    let mut bytes = HashMap::new();
    for row in ROWS.iter().filter(|row| is_wanted(row.gate)) {
        let ratio = row.measure(report);
        report.take(row.gate, ratio, row.times, row.unit());
        let texts = row.texts(COUNTED_TEXTS);
        let passes = row.instructions(&texts);
        let chunks: usize = texts.iter().map(|(text, _)| corpus::cut(text, row.chunk).len()).sum();
        let of_all = |count: usize| {
            let each = |all: f64| all / per(count as u64, 1);
            passes.as_ref().map(|passes| passes.map(each)).map_err(ToString::to_string)
        };
        let name: &'static str = format!("{}_instructions", row.gate).leak();
        let bounds = (row.instructions, row.instructions);
        report.take(name, of_all(chunks).map_err(Into::into), bounds, "instructions a piece");
        bytes.insert(row.gate, of_all(texts.iter().map(|(text, _)| text.len()).sum()));
    }
    let row_of = |name| ROWS.iter().find(|row| row.gate == name);
    for (long, short) in LONGER.iter().filter(|(long, _)| is_wanted(long)) {
        let (Some(of_long), Some(of_short)) = (row_of(*long), row_of(*short)) else { continue };
        let unit = "× the times memchr in 16-byte pieces";
        let (ratio, byte) = match of_short.ratios_to_longer(of_long) {
            Ok((ratio, byte)) => (Ok(ratio), Ok(byte)),
            Err(wrong) => (Err(wrong.to_string().into()), Err(wrong)),
        };
        report.take(format!("{long}_to_16").leak(), ratio, LONGER_TIMES, unit);
        let unit = "× the time of a byte in 16-byte pieces";
        report.take(format!("{long}_byte_time").leak(), byte, LONGER_BYTE, unit);
        let (Some(Ok(long_byte)), Some(Ok(short_byte))) = (bytes.get(long), bytes.get(short))
        else {
            continue;
        };
        let unit = "of the instructions of a byte in 16-byte pieces, memchr is in neither";
        let share = long_byte.zip(*short_byte).map(|(long, short)| long / short);
        report.add(format!("{long}_bytes").leak(), share, LONGER_INSTRUCTIONS, unit);
    }
}

const PREFIX: &str = "row:";

/// Reads the texts of the row that workload `name` names so many times; `None` for other names.
pub(crate) fn work(name: &str, passes: usize) -> Option<Result<()>> {
    let row = ROWS.iter().find(|row| name.strip_prefix(PREFIX) == Some(row.gate))?;
    Some(row.work(passes))
}

impl Row {
    /// Returns the times of `memchr` that the stages take.
    fn measure(&self, report: &Report) -> Result<f64> {
        let texts = self.texts(TEXTS);
        let (pair, count, pieces) = self.timed(&texts, &mut floor)?;
        let scale = per(1, pieces as u64);
        report.note(&format!(
            "{:.1} ns/piece, floor {:.1} ns; {:.1} allocations a text of {TEXT} bytes",
            pair.ours_ns * scale,
            pair.floor_ns * scale,
            per(count, TEXTS)
        ));
        Ok(pair.ratio)
    }

    /// Times the stages beside this floor, both of whose results count in every run; gives the allocations
    /// and the pieces too.
    pub(crate) fn timed(
        &self,
        texts: &[TextOf],
        floor: &mut dyn FnMut(&[Vec<&str>]) -> usize,
    ) -> Result<(Pair, u64, usize)> {
        let (pieces, want) = self.checked(texts)?;
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
        Ok((pair, count, pieces.iter().map(Vec::len).sum()))
    }

    /// Returns the times of `memchr` that `longer` takes in those of this row, and the time that a byte takes
    /// there in that of a byte here, measured in turns.
    fn ratios_to_longer(&self, longer: &Self) -> Result<(f64, f64)> {
        let (own, other) = (self.texts(TEXTS), longer.texts(TEXTS));
        let [bytes, other_bytes] = [&own, &other]
            .map(|texts| texts.iter().map(|(text, _)| text.len() as u64).sum::<u64>());
        let (own, want) = self.checked(&own)?;
        let (other, other_want) = longer.checked(&other)?;
        let is_right = Cell::new(true);
        let read = |pieces: &[Vec<&str>], stages, want| {
            let is_same = read_all(pieces, stages).is_ok_and(|counts| counts == want);
            is_right.set(is_right.get() && is_same);
        };
        let (ratio, time) = ratios_of_pairs(
            (|| floor(&own), || read(&own, self.stages, want)),
            (|| floor(&other), || read(&other, longer.stages, other_want)),
        );
        let byte = time * per(bytes, other_bytes);
        if is_right.get() { Ok((ratio, byte)) } else { Err("a run gave something else".into()) }
    }

    /// Returns the instructions of reading `texts` once.
    fn instructions(&self, texts: &[TextOf]) -> Result<Option<f64>> {
        self.checked(texts)?;
        instructions_per_chunk(&format!("{PREFIX}{}", self.gate), (1, 5))
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
    pub(crate) fn checked<'t>(&self, texts: &'t [TextOf]) -> Result<(Vec<Vec<&'t str>>, Counts)> {
        let mut want = Counts::default();
        for (text, content) in texts {
            let pieces = corpus::cut(text, self.chunk);
            want += self.check(&pieces, text, content.as_deref())?;
        }
        Ok((texts.iter().map(|(text, _)| corpus::cut(text, self.chunk)).collect(), want))
    }

    /// Texts, and for a call the content of its file.
    pub(crate) fn texts(&self, count: u64) -> Vec<TextOf> {
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

    /// Reads pieces as they are measured, and counts what came out, or says what is wrong with it where
    /// they are those of `text`.
    pub(crate) fn check(
        &self,
        pieces: &[&str],
        text: &str,
        content: Option<&str>,
    ) -> Result<Counts> {
        let mut seen = Seen::of(self.stages);
        let mut reader = Reader::new(self.stages)?;
        let out = &mut |read: Read<'_>| seen.take(&read);
        for piece in pieces {
            reader.read(piece, out);
        }
        reader.finish(out);
        seen.check(self, text, content)
    }

    /// Returns the row with other stages.
    pub(crate) fn read_by(&self, stages: Stages) -> Self {
        Self { stages, ..*self }
    }

    /// Returns the pieces of `text`.
    pub(crate) fn cut<'t>(&self, text: &'t str) -> Vec<&'t str> {
        corpus::cut(text, self.chunk)
    }
}
