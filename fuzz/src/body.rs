//! Reading a response body, which any server may have sent.

use std::ops::ControlFlow;

use forgeline::{
    agent::core::{StreamEnd, StreamMachine, StreamOptions},
    llm::{Progress, Protocol, StreamChunk, parser::ToolDialect},
    types::FinishReason,
};
use serde_json::value::RawValue;

use crate::{
    cuts,
    text::{Run, join},
};

/// Decodes a body in several cuts, which must not matter, and checks what holds for every body.
pub fn check(protocol: Protocol, body: &[u8]) {
    let [whole, cut, single] = cuts(body);
    let read = decode(protocol, &whole);
    assert_eq!(decode(protocol, &cut), read, "cut");
    assert_eq!(decode(protocol, &single), read, "byte by byte");
    let (run, error, progress) = read;
    let is_over = matches!(progress, Progress::Complete | Progress::Done);
    assert!(is_over || error.is_some(), "success without an end: {run:?}");
    for call in &run.completion.tool_calls {
        // A number may be larger than a `Value` holds.
        let is_json = serde_json::from_str::<&RawValue>(&call.arguments_raw).is_ok();
        let is_absent = call.arguments_raw.trim().is_empty();
        assert!(!call.is_complete() || is_json || is_absent, "{call:?}");
    }
    let is_cut = run.completion.finish_reason == Some(FinishReason::Length) || error.is_some();
    assert!(run.completion.complete || is_cut || run.completion.error.is_none(), "{run:?}");
}

/// Decodes the pieces of a body: its events and completion, its error, and how far it came.
fn decode(protocol: Protocol, pieces: &[&[u8]]) -> (Run, Option<String>, Progress) {
    let mut decoder = protocol.decoder();
    let options = StreamOptions::default().tools(ToolDialect::NONE);
    let mut machine = StreamMachine::new(&options);
    let (mut events, mut flow) = (Vec::new(), ControlFlow::Continue(()));
    let mut feed = |chunk: StreamChunk| {
        if flow.is_continue() {
            flow = machine.chunk(chunk, &mut |event| join(&mut events, event));
        }
    };
    let mut read = || {
        pieces.iter().try_for_each(|piece| decoder.push(piece, &mut feed))?;
        decoder.finish(&mut feed)
    };
    let error = read().err();
    if let Some(error) = &error {
        machine.fail(error, &mut |event| join(&mut events, event));
    }
    let completion = machine.finish(StreamEnd::Done, &mut |event| join(&mut events, event));
    let progress = decoder.progress();
    (Run { events, completion }, error.map(|error| error.to_string()), progress)
}
