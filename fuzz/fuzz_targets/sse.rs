//! Any bytes as an event stream: no panic, the same events at every cut.

#![no_main]

use forgeline::llm::sse::{SseDecoder, SseLimits};
use libfuzzer_sys::fuzz_target;

type Events = Vec<(String, String, String)>;

/// Reads pieces with a small limit, so that it is met; its error ends the stream.
fn read(pieces: &[&[u8]]) -> (Events, Option<String>, u64) {
    let limits = SseLimits::default().max_line_bytes(256).max_event_bytes(512);
    let mut decoder = SseDecoder::new(limits);
    let mut events = Vec::new();
    for mut piece in pieces.iter().copied() {
        loop {
            match decoder.next_event(&mut piece) {
                Ok(Some(event)) => {
                    events.push((
                        event.event.to_owned(),
                        event.data.to_owned(),
                        event.id.to_owned(),
                    ));
                }
                Ok(None) => break,
                Err(error) => return (events, Some(error.to_string()), 0),
            }
        }
    }
    decoder.finish();
    (events, None, decoder.retry().map_or(0, |retry| retry.as_millis() as u64))
}

fuzz_target!(|bytes: &[u8]| {
    let [whole, cut, single] = forgeline_fuzz::cuts(bytes);
    let events = read(&whole);
    assert_eq!(read(&cut), events);
    assert_eq!(read(&single), events);
});
