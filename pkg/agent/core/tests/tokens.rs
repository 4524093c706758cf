//! Markers that a caller's token ids settle, and calls in reasoning that is never closed.

use super::{
    families::{Family, NAME, VALUE, brief, called, families, for_each},
    harness::{Run, Setup, join},
};
use crate::{StreamEnd, StreamMachine};
use forgeline_llm::{ContentTyper, StreamChunk};
use forgeline_parser::{Section, ThinkingDialect, ThinkingParser, TokenKind};
use forgeline_types::{CallOutcome, FinishReason, Repair};

use TokenKind::{Ordinary, Special};

fn family_of(name: &str) -> Family {
    families().find(|family| family.name == name).unwrap()
}

/// Runs pieces of known tokens through everything, as a provider with token ids would send them.
fn run(setup: &Setup, pieces: &[(TokenKind, &str)]) -> Run {
    let parser = ThinkingParser::new(&setup.thinking, &setup.options.tools);
    let mut typer = ContentTyper::with_parser(parser.after_prompt(setup.prompt));
    let mut machine = StreamMachine::new(&setup.options);
    let mut events = Vec::new();
    let mut feed = |chunk| {
        let _ = machine.chunk(chunk, &mut |event| events.push(event));
    };
    for (tokens, text) in pieces {
        let mut chunk = StreamChunk::message(*text);
        chunk.details.get_or_insert_default().tokens = *tokens;
        typer.push(chunk, &mut feed);
    }
    typer.finish(&mut feed);
    feed(StreamChunk::end(FinishReason::Stop));
    let completion = machine.finish(StreamEnd::Done, &mut |event| events.push(event));
    Run { events: join(events), completion }
}

/// The same, also with ordinary text cut in two everywhere and into characters.
fn run_at_every_cut(setup: &Setup, pieces: &[(TokenKind, &str)]) -> Run {
    let whole = run(setup, pieces);
    let mut chars = Vec::new();
    for (number, (tokens, text)) in pieces.iter().enumerate() {
        if *tokens == Special {
            chars.push((*tokens, *text));
            continue;
        }
        chars.extend(text.split_inclusive(|_| true).map(|piece| (*tokens, piece)));
        for (at, _) in text.char_indices().skip(1) {
            let (head, tail) = text.split_at(at);
            let mut cut = pieces.to_vec();
            cut.splice(number..=number, [(*tokens, head), (*tokens, tail)]);
            assert_eq!(run(setup, &cut), whole, "piece {number} cut at {at}");
        }
    }
    assert_eq!(run(setup, &chars), whole, "char by char");
    whole
}

#[test]
fn a_marker_of_ordinary_tokens_is_text() {
    for_each(families().filter(|family| !family.is_bare()), |family| {
        let text = format!("Text {}", family.example());
        let run = run_at_every_cut(&family.setup(), &[(Ordinary, &text)]);
        assert_eq!(brief(&run), [format!("M:{text}")], "{}", family.name);
    });
    for dialect in ThinkingDialect::all() {
        let setup = Setup { thinking: dialect.clone(), ..Setup::default() };
        let run = run_at_every_cut(&setup, &[(Ordinary, dialect.example())]);
        let want = match dialect.example() {
            "" => vec![],
            example => vec![format!("M:{example}")],
        };
        assert_eq!(brief(&run), want, "{}", dialect.name());
    }
}

#[test]
fn a_marker_of_a_special_token_counts() {
    let hermes = family_of("hermes").setup();
    let body = "\n{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call> <tool_call>\"}}\n";
    let call = [(Special, "<tool_call>"), (Ordinary, body), (Special, "</tool_call>")];
    let want = r#"C f {"a":"</tool_call> <tool_call>"}"#;
    assert_eq!(brief(&run_at_every_cut(&hermes, &call)), [want]);
    let in_code = [&[(Ordinary, "See ` and\n```\n")][..], &call].concat();
    let run = run_at_every_cut(&hermes, &in_code);
    assert_eq!(brief(&run), ["M:See ` and\n```\n", want]);
    assert_eq!(run.completion.fenced_calls, 0);
    let around =
        [&[(Ordinary, "a <tool_call> ")][..], &call, &[(Ordinary, "</tool_call> b")]].concat();
    let got = brief(&run_at_every_cut(&hermes, &around));
    assert_eq!(got, ["M:a <tool_call> ", want, "M:</tool_call> b"]);
}

#[test]
fn a_special_closer_in_a_string_ends_the_call() {
    let pieces = [
        (Special, "<tool_call>"),
        (Ordinary, r#"{"name": "f", "arguments": {"a": "x"#),
        (Special, "</tool_call>"),
        (Ordinary, r#"", "b": 1}} and"#),
    ];
    let run = run_at_every_cut(&family_of("hermes").setup(), &pieces);
    assert!(!run.completion.tool_calls[0].arguments_raw.contains("tool_call"), "{run:?}");
    assert_eq!(run.completion.text, r#"", "b": 1}} and"#);
}

#[test]
fn a_special_opener_in_a_string_begins_the_next_call() {
    let pieces = [
        (Special, "<tool_call>"),
        (Ordinary, r#"{"name": "f", "arguments": {"a": "x"#),
        (Special, "<tool_call>"),
        (Ordinary, r#"{"name": "g"}"#),
        (Special, "</tool_call>"),
    ];
    let run = run_at_every_cut(&family_of("hermes").setup(), &pieces);
    assert_eq!(run.completion.tool_calls[0].outcome, CallOutcome::Incomplete);
    assert_eq!(brief(&run)[1], "C g {}");
}

#[test]
fn special_thinking_tags_count_and_spelled_ones_do_not() {
    let setup = Setup { thinking: ThinkingDialect::THINK, ..family_of("hermes").setup() };
    let pieces = [
        (Special, "<think>"),
        (Ordinary, "\nWrite </think> or <think>.\n"),
        (Special, "</think>"),
        (Ordinary, "\n\nUse `<think>` and <think>, then </think>."),
    ];
    let got = brief(&run_at_every_cut(&setup, &pieces));
    assert_eq!(
        got,
        ["T:Write </think> or <think>.", "M:Use `<think>` and <think>, then </think>."]
    );
    let in_code = [(Ordinary, "`a "), (Special, "<think>"), (Ordinary, "b"), (Special, "</think>")];
    assert_eq!(brief(&run_at_every_cut(&setup, &in_code)), ["M:`a ", "T:b"]);
}

#[test]
fn markers_of_several_special_tokens_count_in_every_exact_dialect() {
    for (name, pieces) in [
        (
            "kimi-k2",
            &[
                (Special, "<|tool_calls_section_begin|>"),
                (Special, "<|tool_call_begin|>"),
                (Ordinary, "functions.calculator:0"),
                (Special, "<|tool_call_argument_begin|>"),
                (Ordinary, "{\"expression\": \"6 * 7\"}"),
                (Special, "<|tool_call_end|>"),
                (Special, "<|tool_calls_section_end|>"),
            ][..],
        ),
        (
            "deepseek-v31",
            &[
                (Special, "<｜tool▁calls▁begin｜>"),
                (Special, "<｜tool▁call▁begin｜>"),
                (Ordinary, "calculator"),
                (Special, "<｜tool▁sep｜>"),
                (Ordinary, "{\"expression\": \"6 * 7\"}"),
                (Special, "<｜tool▁call▁end｜>"),
                (Special, "<｜tool▁calls▁end｜>"),
            ],
        ),
        (
            "mistral",
            &[
                (Special, "[TOOL_CALLS]"),
                (Ordinary, "calculator"),
                (Special, "[ARGS]"),
                (Ordinary, "{\"expression\": \"6 * 7\"}"),
            ],
        ),
        (
            "harmony",
            &[
                (Special, "<|channel|>"),
                (Ordinary, "commentary to=functions.calculator "),
                (Special, "<|constrain|>"),
                (Ordinary, "json"),
                (Special, "<|message|>"),
                (Ordinary, "{\"expression\": \"6 * 7\"}"),
                (Special, "<|call|>"),
            ],
        ),
        (
            "gemma4",
            &[
                (Special, "<|tool_call>"),
                (Ordinary, "call:calculator{expression:"),
                (Special, "<|\"|>"),
                (Ordinary, "6 * 7"),
                (Special, "<|\"|>"),
                (Ordinary, "}"),
                (Special, "<tool_call|>"),
            ],
        ),
    ] {
        let run = run_at_every_cut(&family_of(name).setup(), pieces);
        assert_eq!(brief(&run), [called(NAME, VALUE)], "{name}");
    }
}

/// What R8 says of a text, with the option on and the finish `stop`.
fn unclosed(text: &str) -> Run {
    let setup = Setup { thinking: ThinkingDialect::THINK, ..family_of("hermes").setup() };
    setup.run_at_every_cut(text, text)
}

const CALL: &str = r#"<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>"#;

#[test]
fn r8_complete_calls_in_unclosed_thinking_are_sent_at_the_end() {
    let whole = unclosed(&format!("<think>a {CALL} b {CALL}"));
    let call = r#"C f {"a":1}"#;
    assert_eq!(brief(&whole), [&format!("T:a {CALL} b {CALL}"), call, call]);
    for call in &whole.completion.tool_calls {
        assert_eq!(call.repairs, [Repair::RecoveredFromThinking]);
    }
    let half = unclosed(&format!("<think>{CALL}{}", &CALL[..30]));
    assert_eq!(half.completion.tool_calls.len(), 1);
    let open = unclosed(&format!("<think>{}", &CALL[..CALL.len() - 12]));
    let repairs = &open.completion.tool_calls[0].repairs;
    assert_eq!(repairs, &[Repair::ImplicitClose, Repair::RecoveredFromThinking]);
}

#[test]
fn r8_no_call_is_recovered_after_a_cut_or_an_early_end() {
    let text = format!("<think>{CALL}");
    let setup = Setup { thinking: ThinkingDialect::THINK, ..family_of("hermes").setup() };
    let cut = Setup { finish: Some(FinishReason::Length), ..setup.clone() };
    assert_eq!(brief(&cut.run_at_every_cut("length", &text)), [format!("T:{CALL}")]);
    let early = Setup { is_finished: false, ..setup };
    assert_eq!(brief(&early.run_at_every_cut("early", &text)), [format!("T:{CALL}")]);
}

#[test]
fn r8_a_draft_in_closed_thinking_is_forgotten() {
    let run = unclosed(&format!("<think>{CALL}</think>no<think>b {CALL}</think>"));
    assert_eq!(brief(&run), [&format!("T:{CALL}"), "M:no", &format!("T:b {CALL}")]);
    let run = unclosed(&format!("<think>{CALL}</think>no<think>b"));
    assert!(run.completion.tool_calls.is_empty());
}

#[test]
fn r8_is_an_option_that_families_set() {
    let run_with = |recovers: bool| {
        let setup = family_of("hermes").setup();
        let parser = ThinkingParser::new(&ThinkingDialect::THINK, &setup.options.tools);
        let mut typer = ContentTyper::with_parser(parser.recover_calls(recovers));
        let mut machine = StreamMachine::new(&setup.options);
        let mut feed = |chunk| {
            let _ = machine.chunk(chunk, &mut |_| {});
        };
        typer.push(StreamChunk::message(format!("<think>{CALL}")), &mut feed);
        typer.finish(&mut feed);
        feed(StreamChunk::end(FinishReason::Stop));
        machine.finish(StreamEnd::Done, &mut |_| {}).tool_calls.len()
    };
    assert_eq!((run_with(true), run_with(false)), (1, 0));
    let notes = |recovers| {
        let sections = &[Section::new("[[", "]]")];
        let own = ThinkingDialect::builder("notes").sections(sections).recovers_calls(recovers);
        let setup = Setup { thinking: own.build().unwrap(), ..family_of("hermes").setup() };
        setup.run([&*format!("[[{CALL}")]).completion.tool_calls.len()
    };
    assert_eq!((notes(true), notes(false)), (1, 0));
}

// Found: PEER
#[test]
fn r8_calls_are_recovered_from_unclosed_thinking_of_every_dialect() {
    for thinking in ThinkingDialect::all().into_iter().filter(|it| !it.is_none()) {
        let name = thinking.name();
        let (opener, _) = thinking.example().split_once("Six times seven.").unwrap();
        // What ends a call of Inkling ends its reasoning; the header of one of Harmony does.
        let ends_with_call = matches!(name, "inkling" | "harmony");
        for tools in [if ends_with_call { "glm" } else { name }, "hermes"] {
            let Some(family) = families().find(|family| family.name == tools) else { continue };
            let setup = Setup { thinking: thinking.clone(), ..family.setup() };
            let run = setup.run_at_every_cut(name, &format!("{opener}Hm. {}", family.example()));
            let calls = &run.completion.tool_calls;
            assert_eq!(calls.len(), 1, "{name} with the calls of {tools}");
            assert_eq!((&*calls[0].name, calls[0].is_complete()), (NAME, true), "{name} {tools}");
            assert!(calls[0].repairs.contains(&Repair::RecoveredFromThinking), "{name} {tools}");
        }
    }
}

#[test]
fn r8_at_most_64_kib_are_kept() {
    for (filler, want) in [(60 << 10, 1), (70 << 10, 0)] {
        let text = format!("<think>{CALL}{}", "x ".repeat(filler / 2));
        let setup = Setup { thinking: ThinkingDialect::THINK, ..family_of("hermes").setup() };
        let run = setup.run_at_random_cuts("long", &text, 3);
        assert_eq!(run.completion.tool_calls.len(), want, "{filler}");
        assert_eq!(run.completion.thinking.len(), text.len() - "<think>".len());
    }
    let before = format!("<think>{}{CALL}", "x ".repeat(70 << 10));
    let setup = Setup { thinking: ThinkingDialect::THINK, ..family_of("hermes").setup() };
    assert_eq!(setup.run([&*before]).completion.tool_calls.len(), 1, "kept from the opener on");
}
