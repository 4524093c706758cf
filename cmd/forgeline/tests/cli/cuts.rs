//! Wherever bytes are cut, they read the same.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use forgeline::{
    llm::{
        Protocol,
        parser::{ThinkingDialect, ToolDialect},
    },
    types::{
        AgentEvent, Completion, MessageContentEvent, ThinkingContentEvent, ToolCallContentEvent,
    },
};
use forgeline_cli::{
    input::ChunkCuts, parse::parse_chunks, pipeline::ReadOptions, replay::decode_chunks,
};
use forgeline_testkit::{fixtures::bodies, recorded};

use crate::{
    cut_places::{WHOLE_BYTES, cut_places},
    fixtures::texts,
};

/// A run in its normal form: neighbouring deltas of one kind joined.
pub(crate) type Joined = (Vec<AgentEvent>, Completion);

#[test]
fn chat_bodies_read_the_same_at_every_cut() {
    every_body_reads_the_same_at_every_cut(Protocol::OpenAiChat);
}

#[test]
fn responses_bodies_read_the_same_at_every_cut() {
    every_body_reads_the_same_at_every_cut(Protocol::OpenAiResponses);
}

#[test]
fn anthropic_bodies_read_the_same_at_every_cut() {
    every_body_reads_the_same_at_every_cut(Protocol::Anthropic);
}

#[test]
fn gemini_bodies_read_the_same_at_every_cut() {
    every_body_reads_the_same_at_every_cut(Protocol::Gemini);
}

#[test]
fn ollama_bodies_read_the_same_at_every_cut() {
    every_body_reads_the_same_at_every_cut(Protocol::Ollama);
    every_body_reads_the_same_at_every_cut(Protocol::OllamaGenerate);
}

#[test]
fn cohere_bodies_read_the_same_at_every_cut() {
    every_body_reads_the_same_at_every_cut(Protocol::Cohere);
}

fn every_body_reads_the_same_at_every_cut(protocol: Protocol) {
    let own = bodies().into_iter().filter(|body| body.protocol == protocol);
    let mut bodies: Vec<_> =
        own.map(|body| (body.path.display().to_string(), body.bytes)).collect();
    let own = bodies.len();
    bodies.extend(
        recorded::bodies(protocol).into_iter().flatten().map(|body| (body.name, body.bytes)),
    );
    let readings = [ReadOptions::default(), untouched()];
    let cuts = at_every_cut(&bodies, &readings, |reading, chunks| {
        joined(|emit| {
            decode_chunks(protocol, reading, chunks.iter().copied(), &mut |event| {
                emit(event);
            })
        })
    });
    forgeline_testkit::say(format!("{} bodies, {own} of them fixtures: {cuts} cuts", bodies.len()));
}

#[test]
fn every_text_reads_the_same_at_every_cut() {
    let mut texts = texts();
    let own = texts.len();
    // What models wrote, out of the recorded bodies, is text as well.
    for body in recorded::bodies(Protocol::OpenAiChat).into_iter().flatten() {
        let chunks = [body.bytes.as_slice()];
        let read = decode_chunks(Protocol::OpenAiChat, untouched(), chunks, &mut |_| {});
        texts.push((body.name, read.text.into_bytes()));
    }
    texts.extend(hard_texts());
    let readings = [ReadOptions::default(), untouched()];
    let cuts = at_every_cut(&texts, &readings, |reading, chunks| {
        joined(|emit| {
            parse_chunks(reading, None, chunks.iter().copied(), &mut |event| {
                emit(event);
            })
        })
    });
    forgeline_testkit::say(format!("{} texts, {own} of them fixtures: {cuts} cuts", texts.len()));
}

/// Texts that are hard to cut, invalid UTF-8 among them.
fn hard_texts() -> Vec<(String, Vec<u8>)> {
    let texts: [(&str, &[u8]); 5] = [
        ("thinking", "<thinking>\nplan é\n</thinking>\n\nanswer 日本 🦀".as_bytes()),
        ("json call", br#"Let me see. <tool>{"tool_name":"sum","arguments":{"a":[1,2],"b":"</tool>"}}</tool> done"#),
        ("xml call", b"<tool><tool_name>f</tool_name><arguments><q>a &amp; b</q><c><![CDATA[</tool>]]></c></arguments></tool>"),
        ("cut call", br#"<thinking>x</thinking><tool>{"tool_name":"f","arguments":{"path":"a"#),
        ("invalid bytes", b"a\xff\xe6\x97<\x80tool>\xf0\x9f\xa6`<tool>`\xed\xa0\x80"),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), text.to_vec())).collect()
}

fn untouched() -> ReadOptions {
    ReadOptions {
        tools: ToolDialect::NONE,
        thinking: ThinkingDialect::NONE,
        ..ReadOptions::default()
    }
}

/// Reads every item whole, byte by byte, and cut in two at every place; gives the number of cuts.
fn at_every_cut(
    items: &[(String, Vec<u8>)],
    readings: &[ReadOptions],
    read: impl Fn(ReadOptions, &[&[u8]]) -> Joined + Sync,
) -> usize {
    let (next, cuts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((name, bytes)) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Long bodies have many thousand cuts; the second reading differs in what comes after
            // the decoder, which the short ones show as well.
            let readings = if bytes.len() > WHOLE_BYTES { &readings[..1] } else { readings };
            for reading in readings {
                let whole = read(reading.clone(), &[bytes]);
                let single: Vec<_> = bytes.chunks(1).collect();
                assert_eq!(read(reading.clone(), &single), whole, "{name}: byte by byte");
                for cut in cut_sets(bytes) {
                    let pieces = ChunkCuts::Sizes(cut.clone()).apply(bytes);
                    assert_eq!(read(reading.clone(), &pieces), whole, "{name}: cut in {cut:?}");
                    cuts.fetch_add(cut.len(), Ordering::Relaxed);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    cuts.into_inner()
}

/// The cuts of [`cut_places`], as sizes of the pieces before them. A short body is cut in two; a long
/// one, which would be read some ten thousand times, has many cuts at once, so far apart that most of
/// its lines are whole.
fn cut_sets(bytes: &[u8]) -> Vec<Vec<usize>> {
    const APART: usize = 1024;
    let places = cut_places(bytes);
    let sets = if bytes.len() > WHOLE_BYTES { APART.min(places.len()) } else { places.len() };
    let sizes = |set: usize| {
        let mut begin = 0;
        let cuts = places.iter().skip(set).step_by(sets);
        cuts.map(|at| at - std::mem::replace(&mut begin, *at)).collect()
    };
    (0..sets).map(sizes).collect()
}

pub(crate) fn joined(run: impl FnOnce(&mut dyn FnMut(AgentEvent)) -> Completion) -> Joined {
    let mut events: Vec<AgentEvent> = Vec::new();
    let completion = run(&mut |event| {
        if events.last_mut().is_none_or(|last| !append(last, &event)) {
            events.push(event);
        }
    });
    (events, completion)
}

/// Joins `next` into `last` when both are deltas of the same thing.
fn append(last: &mut AgentEvent, next: &AgentEvent) -> bool {
    match (last, next) {
        (
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }),
            AgentEvent::ThinkingContent(ThinkingContentEvent { content: more, .. }),
        ) => content.push_str(more),
        (
            AgentEvent::MessageContent(MessageContentEvent { content, refusal, .. }),
            AgentEvent::MessageContent(MessageContentEvent {
                content: more, refusal: same, ..
            }),
        ) if refusal == same => content.push_str(more),
        (
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, content, arguments, .. }),
            AgentEvent::ToolCallContent(ToolCallContentEvent {
                index: same,
                content: more,
                arguments: more_arguments,
                ..
            }),
        ) if index == same => {
            content.push_str(more);
            arguments.push_str(more_arguments);
        }
        _ => return false,
    }
    true
}

#[test]
fn joining_keeps_what_differs_apart() {
    let message = |content: &str, refusal| {
        AgentEvent::MessageContent(MessageContentEvent::new(content).refusal(refusal))
    };
    let mut last = message("a", false);
    assert!(append(&mut last, &message("b", false)));
    assert_eq!(last, message("ab", false));
    assert!(!append(&mut last, &message("c", true)));
    assert!(!append(&mut last, &AgentEvent::MessageEnd));
}
