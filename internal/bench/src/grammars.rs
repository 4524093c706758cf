//! Every grammar of calls at several sizes of calls and chunks.

use std::hint::black_box;

use forgeline::llm::parser::{ParseOutcome, ParsedContent, ToolCallParser};
use serde_json::Value;

use crate::{
    corpus::{self, Dice},
    gate::Report,
    measure::{allocations, per, side_by_side},
    parsers::floor,
    stages::parser_of,
};

/// A dialect, and how it writes a call with this content.
type Grammar = (&'static str, fn(&str) -> String);

const GRAMMARS: [Grammar; 9] = [
    ("hermes", hermes),
    ("qwen3-coder", qwen3_coder),
    ("kimi-k2", kimi_k2),
    ("mistral", mistral),
    ("glm", glm),
    ("dsml", dsml),
    ("minimax-m2", minimax_m2),
    ("gemma4", gemma4),
    ("pythonic", pythonic),
];

fn json(content: &str) -> String {
    serde_json::Value::from(content).to_string()
}

pub(crate) fn hermes(content: &str) -> String {
    let content = json(content);
    format!(
        "<tool_call>\n{{\"name\": \"write_file\", \"arguments\": {{\"content\": {content}, \"line\": 7}}}}\n</tool_call>"
    )
}

pub(crate) fn qwen3_coder(content: &str) -> String {
    format!(
        "<tool_call>\n<function=write_file>\n<parameter=content>\n{content}\n</parameter>\n\
         <parameter=line>\n7\n</parameter>\n</function>\n</tool_call>"
    )
}

pub(crate) fn kimi_k2(content: &str) -> String {
    let content = json(content);
    format!(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0\
         <|tool_call_argument_begin|>{{\"content\": {content}, \"line\": 7}}<|tool_call_end|>\
         <|tool_calls_section_end|>"
    )
}

pub(crate) fn mistral(content: &str) -> String {
    let content = json(content);
    format!("[TOOL_CALLS]write_file[ARGS]{{\"content\": {content}, \"line\": 7}}")
}

pub(crate) fn glm(content: &str) -> String {
    format!(
        "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>{content}</arg_value>\n\
         <arg_key>line</arg_key>\n<arg_value>7</arg_value>\n</tool_call>"
    )
}

pub(crate) fn dsml(content: &str) -> String {
    format!(
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"write_file\">\n\
         <｜DSML｜parameter name=\"content\" string=\"true\">{content}</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"line\" string=\"false\">7</｜DSML｜parameter>\n\
         </｜DSML｜invoke>\n</｜DSML｜function_calls>"
    )
}

pub(crate) fn minimax_m2(content: &str) -> String {
    format!(
        "<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"content\">{content}\
         </parameter>\n<parameter name=\"line\">7</parameter>\n</invoke>\n</minimax:tool_call>"
    )
}

pub(crate) fn gemma4(content: &str) -> String {
    format!("<|tool_call>call:write_file{{content:<|\"|>{content}<|\"|>,line:7}}<tool_call|>")
}

pub(crate) fn pythonic(content: &str) -> String {
    let content = json(content);
    format!("[write_file(content={content}, line=7)]")
}

/// One call of up to 1 MiB costs the same a chunk in every grammar; no chunk allocates. The other sizes
/// are notes.
pub(crate) fn gates(report: &mut Report) {
    let (mut flatness, mut steady) = (0.0_f64, 0.0_f64);
    for (dialect, call) in GRAMMARS {
        let parser = match parser_of(dialect) {
            Ok(parser) => parser,
            Err(wrong) => {
                report.fail("grammar_flatness", &wrong.to_string());
                continue;
            }
        };
        let sizes = [16 << 10, 64 << 10, 256 << 10, 1 << 20].map(|bytes| {
            let content = corpus::prose(&mut Dice::new(3), bytes);
            let text = call(&content);
            [4, 16, 64].map(|chunk| {
                let seen = arguments(&corpus::cut(&text, chunk), &parser);
                if seen.as_deref() != Some(&content) {
                    report.fail("grammar_flatness", &format!("{dialect}: another file came out"));
                }
                // As many times as make one MiB.
                let chunks = vec![corpus::cut(&text, chunk); (1 << 20) / bytes];
                let count: usize = chunks.iter().map(Vec::len).sum();
                let pair = side_by_side(|| floor(&chunks), || read(&chunks, &parser));
                let ((), allocated) = allocations(|| read(&chunks[..1], &parser));
                (pair, count, allocated, chunks[0].len())
            })
        });
        for (size, row) in [16, 64, 256, 1024].into_iter().zip(&sizes) {
            let cells = row.iter().map(|(pair, count, allocated, one)| {
                let nanoseconds = pair.ours_ns * per(1, *count as u64);
                let allocations = per(*allocated, *one as u64);
                format!("{:.2} × ({nanoseconds:.1} ns, {allocations:.3} allocations)", pair.ratio)
            });
            let cells = cells.collect::<Vec<_>>().join(" · ");
            report.note(&format!("{size} KiB a call, chunks of 4 · 16 · 64 bytes: {cells}"));
        }
        let [short, .., long] = &sizes;
        for (short, long) in short.iter().zip(long) {
            // Each beside its floor: what disturbs one of them for a while would pass for a slope.
            flatness = flatness.max(long.0.ratio / short.0.ratio);
            let further = (long.3 - short.3) as u64;
            steady = steady.max(per(long.2.saturating_sub(short.2), further));
        }
    }
    report.add("grammar_flatness", flatness, (1.5, 1.1), "× from 16 KiB to 1 MiB, worst grammar");
    report.add("grammar_allocations", steady, (0.0, 0.0), "allocations/chunk, worst grammar");
}

/// The content of the file that the one call of a text writes.
pub(crate) fn arguments(pieces: &[&str], parser: &ToolCallParser) -> Option<String> {
    let (mut calls, mut parser, mut json, mut whole) = (0, parser.fresh(), String::new(), 0);
    let content = &mut |content: ParsedContent<'_>| {
        if let ParsedContent::CallVerbatim(text) | ParsedContent::CallArguments(text) = content {
            json.push_str(text);
        } else if let ParsedContent::CallStart = content {
            calls += 1;
        } else if let ParsedContent::CallEnd { outcome: ParseOutcome::Complete, .. } = content {
            whole += 1;
        }
    };
    for piece in pieces {
        parser.parse(piece, content);
    }
    parser.flush(true, content);
    let arguments: Value = serde_json::from_str(&json).ok()?;
    let content = arguments.get("content").and_then(Value::as_str)?;
    ((calls, whole) == (1, 1)).then(|| content.to_owned())
}

/// Reads every text as a stream of its own.
pub(crate) fn read(texts: &[Vec<&str>], parser: &ToolCallParser) {
    let content = &mut |content: ParsedContent<'_>| _ = black_box(content);
    for chunks in texts {
        let mut calls = parser.fresh();
        for chunk in chunks {
            calls.parse(black_box(*chunk), content);
        }
        calls.flush(true, content);
    }
}
