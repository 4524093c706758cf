//! Properties of the decoders of all protocols.

mod byte_stream;
mod fragments;
mod repeats;
mod sse_body;

use proptest::prelude::*;

use crate::{ContentType, Progress, Protocol, ProviderError, StreamChunk};

/// An event or a line of a protocol that reports an error with this value.
fn reported(protocol: Protocol, error: &str) -> String {
    let json = if protocol == Protocol::Anthropic {
        format!(r#"{{"type":"error","error":{error}}}"#)
    } else {
        format!(r#"{{"error":{error}}}"#)
    };
    framed(protocol, &json)
}

/// The last event of an answer.
fn ended(protocol: Protocol) -> String {
    let json = match protocol {
        Protocol::OpenAiChat => r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        Protocol::OpenAiResponses => {
            r#"{"type":"response.completed","response":{"status":"completed","error":{}}}"#
        }
        Protocol::Anthropic => r#"{"type":"message_stop"}"#,
        Protocol::Gemini => r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        Protocol::Cohere => r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
        Protocol::Ollama | Protocol::OllamaGenerate => r#"{"done":true}"#,
    };
    framed(protocol, json)
}

fn framed(protocol: Protocol, json: &str) -> String {
    if matches!(protocol, Protocol::Ollama | Protocol::OllamaGenerate) {
        format!("{json}\n")
    } else {
        format!("data: {json}\n\n")
    }
}

/// An event or a line that adds `text`, a part of a JSON string, to the answer.
fn said(protocol: Protocol, text: &str) -> String {
    let json = match protocol {
        Protocol::OpenAiChat => format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#),
        Protocol::OpenAiResponses => {
            format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{text}"}}"#)
        }
        Protocol::Anthropic => format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
        Protocol::Gemini => {
            format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}}}]}}"#)
        }
        Protocol::Cohere => format!(
            r#"{{"type":"content-delta","index":0,"delta":{{"message":{{"content":{{"text":"{text}"}}}}}}}}"#
        ),
        Protocol::Ollama => format!(r#"{{"message":{{"content":"{text}"}}}}"#),
        Protocol::OllamaGenerate => format!(r#"{{"response":"{text}"}}"#),
    };
    framed(protocol, &json)
}

type Outcome = (Vec<StreamChunk>, Option<ProviderError>);

fn read(protocol: Protocol, body: &str) -> Outcome {
    read_pieces(protocol, [body.as_bytes()])
}

fn read_pieces<'a>(protocol: Protocol, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let (mut chunks, mut decoder) = (Vec::new(), protocol.decoder());
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut |chunk| chunks.push(chunk)).err());
    }
    let error = error.or_else(|| decoder.finish(&mut |chunk| chunks.push(chunk)).err());
    (chunks, error)
}

fn text(chunks: &[StreamChunk]) -> String {
    let is_text = |chunk: &&StreamChunk| chunk.content_type == ContentType::Message;
    chunks.iter().filter(is_text).map(|chunk| &*chunk.content).collect()
}

/// Reads `body` at every cut, and byte by byte; all are the same.
fn in_every_way(protocol: Protocol, body: &str) -> Outcome {
    let whole = read(protocol, body);
    let same = |pieces: Outcome, way: &str| {
        assert_eq!(format!("{pieces:?}"), format!("{whole:?}"), "{protocol}, {way}");
    };
    for at in 0..=body.len() {
        let (one, two) = body.as_bytes().split_at(at);
        same(read_pieces(protocol, [one, two]), &format!("cut at {at}"));
    }
    same(read_pieces(protocol, body.as_bytes().chunks(1)), "byte by byte");
    whole
}

#[test]
fn an_answer_is_the_same_at_every_cut_whatever_stands_between_its_events() {
    for &protocol in Protocol::ALL {
        let between = framed(protocol, r#"{"type":"news","new":{"x":[1,null]}}"#);
        let blank = "\n";
        let (one, two) = (said(protocol, "Hé"), said(protocol, r"llo\n"));
        let body = format!("\u{feff}{one}{between}{two}{blank}{}", ended(protocol));
        let (chunks, error) = in_every_way(protocol, &body);
        assert!(error.is_none(), "{protocol}: {error:?}");
        assert_eq!(text(&chunks), "Héllo\n", "{protocol}");
        assert!(chunks.iter().any(StreamChunk::is_last), "{protocol}");
    }
}

// Found: R12
#[test]
fn a_byte_order_mark_in_the_middle_of_a_stream_costs_no_event() {
    for &protocol in Protocol::ALL {
        let (one, two) = (said(protocol, "one "), said(protocol, "two "));
        let in_data = said(protocol, "three").replacen('{', "\u{feff}{", 1);
        let marks = "\u{feff}\u{feff}";
        let body = format!("{marks}{one}{marks}{two}{in_data}\u{feff}{}", ended(protocol));
        let (chunks, error) = in_every_way(protocol, &body);
        assert!(error.is_none(), "{protocol}: {error:?}");
        assert_eq!(text(&chunks), "one two three", "{protocol}");
    }
}

/// An answer that calls a tool `n` times, as a server sends it that does not stream.
fn whole_calls(protocol: Protocol, n: usize) -> String {
    let function =
        |arguments: &str| format!(r#""function":{{"name":"f","arguments":{arguments}}}"#);
    let (call, before, after) = match protocol {
        Protocol::OpenAiChat => (
            function(r#""{}""#),
            r#"{"choices":[{"message":{"tool_calls":["#,
            r#"]},"finish_reason":"tool_calls"}]}"#,
        ),
        Protocol::OpenAiResponses => (
            r#""type":"function_call","name":"f","arguments":"{}","call_id":"AT""#.to_owned(),
            r#"{"object":"response","status":"completed","output":["#,
            "]}",
        ),
        Protocol::Anthropic => (
            r#""type":"tool_use","name":"f","input":{},"id":"AT""#.to_owned(),
            r#"{"type":"message","role":"assistant","content":["#,
            r#"],"stop_reason":"tool_use"}"#,
        ),
        Protocol::Gemini => (
            r#""functionCall":{"name":"f","args":{}}"#.to_owned(),
            r#"{"candidates":[{"content":{"parts":["#,
            r#"]},"finishReason":"STOP"}]}"#,
        ),
        Protocol::Cohere => (
            function(r#""{}""#),
            r#"{"id":"1","message":{"role":"assistant","tool_calls":["#,
            r#"]},"finish_reason":"TOOL_CALL"}"#,
        ),
        Protocol::Ollama | Protocol::OllamaGenerate => {
            (function("{}"), r#"{"message":{"tool_calls":["#, r#"]},"done":true}"#)
        }
    };
    let calls =
        (0..n).map(|at| format!("{{\"id\":\"c{at}\",{}}}", call.replace("AT", &at.to_string())));
    format!("{before}{}{after}", calls.collect::<Vec<_>>().join(","))
}

// Found: R12
#[test]
fn calls_beyond_a_table_are_an_error_and_never_lost() {
    for &protocol in Protocol::ALL {
        for n in [2, 1_000, 1_024, 1_025, 5_000] {
            let body = whole_calls(protocol, n);
            let (chunks, error) = read(protocol, &body);
            let calls = chunks.iter().flat_map(|chunk| &chunk.tool_calls);
            let named = calls.filter(|call| call.name.is_some()).count();
            match error {
                None => assert_eq!(named, n, "{protocol}"),
                Some(error) => {
                    assert!(error.to_string().contains("too many"), "{protocol}, {n}: {error}");
                    assert!(n > 1_024, "{protocol}, {n}: {error}");
                }
            }
        }
    }
}

#[test]
fn half_a_character_waits_for_the_next_event() {
    #[rustfmt::skip]
    let cases: [(&str, &[&str], &str); 6] = [
        ("two halves",      &[r"a\ud83d", r"\ude00b"],          "a😀b"),
        ("over three",      &[r"\uD83D", r"\uDE00\ud83d", r"\ude42"], "😀🙂"),
        ("then none",       &[r"a\ud83d", "b"],                 "a\u{FFFD}b"),
        ("two first ones",  &[r"a\ud83d", r"\ud83db"],          "a\u{FFFD}\u{FFFD}b"),
        ("inside a text",   &[r"\ude00a\ud83d b\\ud83d"],       "\u{FFFD}a\u{FFFD} b\\ud83d"),
        ("a pair, escaped", &[r"\ud83d\ude42", r"\u65e5"],       "🙂日"),
    ];
    for &protocol in Protocol::ALL {
        for (name, texts, want) in cases {
            let body: String = texts.iter().map(|text| said(protocol, text)).collect();
            let (chunks, error) = in_every_way(protocol, &(body + &ended(protocol)));
            assert!(error.is_none(), "{protocol}, {name}: {error:?}");
            assert_eq!(text(&chunks), want, "{protocol}, {name}");
        }
        let (chunks, _) = read(protocol, &said(protocol, r"a\ud83d"));
        assert_eq!(text(&chunks), "a\u{FFFD}", "{protocol}, at the end");
    }
}

#[test]
fn a_body_that_stops_before_its_end_ended_early() {
    for &protocol in Protocol::ALL {
        let body = said(protocol, "Hi");
        for cut in 0..=body.len() {
            let (_, error) = read(protocol, body.get(..cut).unwrap());
            let received = cut as u64;
            let is_early = matches!(error, Some(ProviderError::EndedEarly { received: known }) if known == received);
            assert!(is_early, "{protocol} at {cut}: {error:?}");
        }
    }
}

#[test]
fn data_that_are_not_json_are_an_error_with_their_offset() {
    for &protocol in Protocol::ALL {
        let good = said(protocol, "Hi");
        let (chunks, error) =
            in_every_way(protocol, &format!("{good}{}", framed(protocol, "oops")));
        assert_eq!(text(&chunks), "Hi", "{protocol}");
        let Some(ProviderError::Decode { offset, reason }) = error else {
            panic!("{protocol}: {error:?}");
        };
        assert_eq!(offset, good.len() as u64, "{protocol}");
        assert!(reason.starts_with("invalid event data: expected value"), "{protocol}: {reason}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic_and_any_chunking_reads_the_same(
        protocol in prop::sample::select(Protocol::ALL),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..16),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let fragments = fragments::of_protocol(protocol);
        let body: Vec<u8> = places.iter().flat_map(|place| *place.get(fragments)).copied().collect();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces = read_pieces(protocol, cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]));
        let whole = read_pieces(protocol, [body.as_slice()]);
        prop_assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
    }
}

// Found: S11
#[test]
fn the_first_error_of_a_stream_counts() {
    for &protocol in Protocol::ALL {
        let [one, two] =
            ["one", "two"].map(|text| reported(protocol, &format!(r#"{{"message":"{text}"}}"#)));
        for body in [format!("{one}{two}"), format!("{one}{two}{}", ended(protocol))] {
            let (_, error) = read(protocol, &body);
            let Some(ProviderError::InStream { message, .. }) = &error else {
                panic!("{protocol}: {error:?}");
            };
            assert_eq!(message, "one", "{protocol}");
        }
        let mut decoder = protocol.decoder();
        decoder.push(one.as_bytes(), &mut |_| {}).unwrap();
        assert_eq!(decoder.progress(), Progress::Failed, "{protocol}");
    }
}

// Found: S12
#[test]
fn an_empty_error_is_none() {
    let protocols = [Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::Ollama];
    for protocol in protocols {
        for empty in ["null", "{}", "\"\"", "false"] {
            let end = ended(protocol).replacen('{', &format!(r#"{{"error":{empty},"#), 1);
            let (chunks, error) =
                read(protocol, &end.replace("\"error\":{}", &format!("\"error\":{empty}")));
            assert!(error.is_none(), "{protocol}, {empty}: {error:?}");
            assert!(chunks.iter().any(StreamChunk::is_last), "{protocol}, {empty}");
        }
    }
}

// Found: R6
#[test]
fn the_words_of_an_error_are_cut_behind_500_characters() {
    let message = |words: &str| {
        let body = format!("data: {{\"error\":{{\"message\":\"{words}\"}}}}\n\n");
        read(Protocol::OpenAiChat, &body).1.unwrap().to_string()
    };
    let (whole, longer) = ("é".repeat(500), "é".repeat(501));
    assert!(message(&whole).contains(&whole));
    let message = message(&longer);
    assert!(
        message.contains(&format!("{}…", "é".repeat(499))) && !message.contains(&whole),
        "{message}"
    );
}

// Found: S13
#[test]
fn what_was_put_together_makes_room_for_the_next() {
    let text = "x".repeat(1 << 20);
    let block = |index: usize| {
        let events = [
            format!(
                r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"server_tool_use","id":"a","name":"n","input":{{}}}}}}"#
            ),
            format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"\"{text}\""}}}}"#
            ),
            format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"new_delta","new":"{text}"}}}}"#
            ),
            format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
        ];
        events.map(|json| framed(Protocol::Anthropic, &json)).concat()
    };
    let item = |index: usize| {
        let item = format!(
            r#""output_index":{index},"item":{{"type":"custom","id":"i{index}","data":"{text}"}}"#
        );
        let events = ["added", "added", "done"];
        events
            .map(|word| {
                framed(
                    Protocol::OpenAiResponses,
                    &format!(r#"{{"type":"response.output_item.{word}",{item}}}"#),
                )
            })
            .concat()
    };
    let cases: [(_, &dyn Fn(usize) -> String, usize); 2] =
        [(Protocol::Anthropic, &block, 6), (Protocol::OpenAiResponses, &item, 20)];
    for (protocol, part, count) in cases {
        let body = (0..count).map(part).collect::<String>() + &ended(protocol);
        let (chunks, error) = read(protocol, &body);
        assert!(error.is_none(), "{protocol}: {error:?}");
        let items = chunks.iter().filter(|chunk| {
            chunk.details.as_ref().is_some_and(|details| !details.events.is_empty())
        });
        assert_eq!(items.count(), count, "{protocol}");
    }
}
