//! Texts that nobody wrote with calls in mind come back as they were, in every dialect.

use std::{
    collections::BTreeMap,
    env,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use forgeline::{
    TextPipeline,
    llm::parser::{Dialect, ThinkingDialect, ToolDialect},
};
use forgeline_testkit::neutral::{self, NeutralText};

/// The number of texts that a run must read; `NEUTRAL_TEXTS` multiplies it.
const LEAST: usize = 1500;

/// The dialects: those of calls beside any reasoning, those of reasoning without calls.
fn dialects() -> Vec<Dialect> {
    let tools = ToolDialect::all().into_iter().map(|tools| {
        let mut dialect = Dialect::default();
        dialect.tools = tools;
        dialect
    });
    let thinking = ThinkingDialect::all().into_iter().map(|thinking| {
        let mut dialect = Dialect::default();
        (dialect.tools, dialect.thinking) = (ToolDialect::NONE, thinking);
        dialect
    });
    tools.chain(thinking).collect()
}

/// Reads `text` in these pieces; returns what is wrong with the result.
fn check_text<'t>(
    dialect: &Dialect,
    text: &str,
    pieces: impl Iterator<Item = &'t [u8]>,
) -> Result<(), String> {
    let mut pipeline = TextPipeline::new(dialect.clone());
    let mut given = 0;
    for piece in pieces {
        pipeline.push_bytes(piece, |_| given += 1);
    }
    let completion = pipeline.finish(|_| {});
    if let Some(call) = completion.tool_calls.first() {
        return Err(format!("the call {:?}, {:?}", call.name, call.outcome));
    }
    if !completion.thinking.is_empty() {
        return Err(format!("the reasoning {:?}", start(&completion.thinking)));
    }
    if completion.text != text {
        let same = completion.text.bytes().zip(text.bytes()).take_while(|(got, want)| got == want);
        let same = text.floor_char_boundary(same.count());
        let (_, lost) = text.split_at(same);
        return Err(format!("lost bytes from {:?} on", start(lost)));
    }
    if !completion.complete {
        return Err("an answer that is not complete".to_owned());
    }
    Ok(())
}

fn start(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Cuts at places that are the same in every run.
fn pieces(text: &str, seed: usize) -> impl Iterator<Item = &[u8]> {
    let mut state = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let length = 1 + usize::try_from(state >> 33).unwrap() % [3, 40, 900][seed % 3];
        let (piece, tail) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        rest = tail;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// Reads a text in every dialect whole, and in some of them in pieces.
fn check(text: &NeutralText, number: usize) -> Vec<String> {
    let NeutralText { kind, place, text } = text;
    let mut wrong = Vec::new();
    for (which, dialect) in dialects().iter().enumerate() {
        let whole = check_text(dialect, text, std::iter::once(text.as_bytes()));
        let is_cut = which == 1 || (which + number).is_multiple_of(16);
        let in_pieces =
            || check_text(dialect, text, pieces(text, number)).map_err(|why| format!("cut, {why}"));
        if let Err(why) = whole.and_then(|()| if is_cut { in_pieces() } else { Ok(()) }) {
            wrong.push(format!("{dialect}: {why}, in {kind}, {place}"));
        }
    }
    wrong
}

// Found: M
#[test]
fn texts_without_calls_come_back_as_they_were_in_every_dialect() {
    let asked = env::var("NEUTRAL_TEXTS").ok().and_then(|times| times.parse().ok());
    let times = asked.unwrap_or(1);
    let texts = neutral::texts(times, LEAST);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(text) = texts.texts.get(next.fetch_add(1, Relaxed)) {
            wrong.extend(check(text, text.text.len()));
        }
        wrong
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let mut by_dialect: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for line in &wrong {
        by_dialect.entry(line.split(':').next().unwrap_or_default()).or_default().push(line);
    }
    for (dialect, lines) in &by_dialect {
        println!("{dialect}: {} texts", lines.len());
        lines.iter().take(20).for_each(|line| println!("  {line}"));
    }
    assert!(wrong.is_empty(), "{} of {}", wrong.len(), texts.count());
    forgeline_testkit::say(format!("{texts}"));
}
