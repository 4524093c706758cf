use std::fmt::Write as _;

use super::CohereDecoder;
use crate::{BodyDecoder, ContentType, Progress, ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, ErrorCode, FinishReason, ItemKind, Json};

/// The chunks in words: `m:` message, `t:` thinking, `c` calls with `.` at their end, `[…]` citations,
/// `u` usage, adjacent content joined, then the end.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Option<ProviderError>) {
    let mut out = String::new();
    let mut last = None;
    let mut push = |chunk: StreamChunk| {
        if !chunk.content.is_empty() {
            if last != Some(chunk.content_type) {
                out.push_str(match chunk.content_type {
                    ContentType::Message => " m:",
                    ContentType::Thinking => " t:",
                    ContentType::Refusal => " r:",
                });
            }
            last = Some(chunk.content_type);
            out.push_str(&chunk.content);
            return;
        }
        last = None;
        for call in chunk.tool_calls {
            write!(out, " c{}", call.index).unwrap();
            out.push_str(&call.id.map(|id| format!("#{id}")).unwrap_or_default());
            out.push_str(&call.name.map(|name| format!(":{name}")).unwrap_or_default());
            write!(out, "({}){}", call.arguments, if call.ended { "." } else { "" }).unwrap();
        }
        if let Some(usage) = chunk.usage {
            let counts = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens];
            let counts = counts.map(|count| count.map_or("-".into(), |count| count.to_string()));
            write!(out, " u{}", counts.join("/")).unwrap();
        }
        let details = chunk.details.unwrap_or_default();
        out.push_str(&details.response_id.map(|id| format!(" id:{id}")).unwrap_or_default());
        for event in details.events {
            let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
            let ItemKind::Citation(cited) = item.kind else {
                write!(out, " [{}]", item.raw).unwrap();
                continue;
            };
            let (url, text) = (cited.url.unwrap_or_default(), cited.cited_text.unwrap_or_default());
            write!(out, " [{url}|{text} {:?}-{:?}]", cited.start, cited.end).unwrap();
        }
        if chunk.finished {
            let reason = chunk.finish_reason;
            write!(out, " end:{}", reason.as_ref().map_or("-", FinishReason::as_str)).unwrap();
        }
    };
    let mut decoder = CohereDecoder::default();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut push).err());
    }
    let error = error.or_else(|| decoder.finish(&mut push).err());
    (out.trim_start().to_owned(), error)
}

/// Every chunking gives the same as the whole.
fn in_every_way(body: &[u8]) -> (String, Option<ProviderError>) {
    let whole = read([body]);
    let same = |pieces: (String, Option<ProviderError>), way: &str| {
        assert_eq!(format!("{pieces:?}"), format!("{whole:?}"), "{way}");
    };
    for cut in 0..=body.len() {
        let (one, two) = body.split_at(cut);
        same(read([one, two]), &format!("cut at {cut}"));
    }
    same(read(body.chunks(1)), "byte by byte");
    whole
}

fn sse(events: &[String]) -> Vec<u8> {
    let event = |event: &String| format!("data: {event}\n\n");
    events.iter().map(event).collect::<String>().into_bytes()
}

/// An event of this type that adds to the message.
fn event(kind: &str, index: u32, message: &str) -> String {
    format!(r#"{{"type":"{kind}","index":{index},"delta":{{"message":{{{message}}}}}}}"#)
}

fn content(content: &str) -> String {
    event("content-delta", 0, &format!(r#""content":{{{content}}}"#))
}

fn call(kind: &str, index: u32, call: &str) -> String {
    event(kind, index, &format!(r#""tool_calls":{{{call}}}"#))
}

fn end(fields: &str) -> String {
    format!(r#"{{"type":"message-end","delta":{{{fields}}}}}"#)
}

#[test]
fn every_event_and_every_quirk_is_read() {
    let complete = || end(r#""finish_reason":"COMPLETE""#);
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        ("a text",                vec![r#"{"type":"message-start","id":"i","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}"#.into(), event("content-start", 0, r#""content":{"type":"text","text":""}"#), content(r#""text":"a""#), content(r#""text":"b""#), r#"{"type":"content-end","index":0}"#.into(), complete()], "id:i m:ab end:stop"),
        ("thinking, then text",   vec![event("content-start", 0, r#""content":{"type":"thinking","thinking":"x"}"#), content(r#""thinking":"y""#), event("content-start", 1, r#""content":{"type":"text","text":"a"}"#), content(r#""text":"b""#)], "t:xy m:ab"),
        ("a plan is thinking",    vec![event("tool-plan-delta", 0, r#""tool_plan":"I will""#)], "t:I will"),
        ("two calls",             vec![call("tool-call-start", 0, r#""id":"a","type":"function","function":{"name":"files_x2e_read","arguments":""}"#), call("tool-call-delta", 0, r#""function":{"arguments":"{}"}"#), r#"{"type":"tool-call-end","index":0}"#.into(), call("tool-call-start", 1, r#""id":"b","function":{"name":"g","arguments":"{"}"#), call("tool-call-delta", 1, r#""function":{"arguments":"}"}"#)], "c0#a:files.read() c0({}) c0(). c1#b:g({) c1(})"),
        ("calls that alternate",  vec![call("tool-call-start", 3, r#""id":"a","function":{"name":"f"}"#), call("tool-call-start", 1, r#""id":"b","function":{"name":"g"}"#), call("tool-call-delta", 3, r#""function":{"arguments":"1"}"#), call("tool-call-delta", 1, r#""function":{"arguments":"2"}"#), r#"{"type":"tool-call-end","index":3}"#.into()], "c0#a:f() c1#b:g() c0(1) c1(2) c0()."),
        ("one index for all",     vec![call("tool-call-start", 0, r#""id":"a","function":{"name":"f"}"#), call("tool-call-start", 0, r#""id":"b","function":{"name":"f"}"#), call("tool-call-delta", 0, r#""function":{"arguments":"1"}"#)], "c0#a:f() c1#b:f() c1(1)"),
        ("no index",              vec![r#"{"type":"tool-call-start","delta":{"message":{"tool_calls":{"id":"a","function":{"name":"f"}}}}}"#.into(), r#"{"type":"tool-call-delta","delta":{"message":{"tool_calls":{"function":{"arguments":"1"}}}}}"#.into()], "c0#a:f() c0(1)"),
        ("an end without a call", vec![r#"{"type":"tool-call-end","index":0}"#.into()], ""),
        ("citations",             vec![event("citation-start", 0, r#""citations":{"start":1,"end":4,"text":"abc","sources":[{"type":"document","id":"d","document":{"url":"u","title":"t","snippet":"s"}},{"type":"tool","id":"x","tool_output":{}}]}"#), event("citation-start", 1, r#""citations":{"start":5,"end":6}"#), r#"{"type":"citation-end","index":0}"#.into()], "[u|s Some(1)-Some(4)] [| Some(1)-Some(4)] [| Some(5)-Some(6)]"),
        ("usage",                 vec![end(r#""finish_reason":"MAX_TOKENS","usage":{"billed_units":{"input_tokens":1},"tokens":{"input_tokens":7,"output_tokens":2},"cached_tokens":5}"#), "[DONE]".into(), content(r#""text":"no""#)], "u7/2/5 end:length"),
        ("only what is billed",   vec![end(r#""finish_reason":"STOP_SEQUENCE","usage":{"billed_units":{"input_tokens":1}}"#)], "u-/-/- end:stop"),
        ("a call is wanted",      vec![end(r#""finish_reason":"TOOL_CALL""#)], "end:tool_calls"),
        ("an end without a word", vec![r#"{"type":"message-end"}"#.into()], "end:-"),
        ("wrong types",           vec![r#"{"type":"content-delta","index":"0","delta":{"message":{"content":7}}}"#.into(), r#"{"type":"content-delta","delta":null}"#.into(), r#"{"type":7,"id":[]}"#.into(), content(r#""text":null"#)], ""),
        ("kinds of the future",   vec![r#"{"type":"debug","prompt":"x"}"#.into(), event("content-revision", 0, r#""content":{"text":"a"}"#)], r#"[{"type":"debug","prompt":"x"}] m:a"#),
        ("half a character",      vec![content(r#""text":"a\ud83d""#)], "m:a\u{FFFD}"),
    ];
    for (name, events, want) in cases {
        let (got, error) = in_every_way(&sse(&events));
        assert_eq!(got, want, "{name}");
        assert_eq!(error.is_none(), got.contains("end:"), "{name}: {error:?}");
        let early = matches!(error, None | Some(ProviderError::EndedEarly { .. }));
        assert!(early, "{name}: {error:?}");
    }
}

#[test]
fn the_event_s_name_stands_in_for_a_missing_type() {
    let body = b"event: message-end\ndata: {\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n";
    assert_eq!(in_every_way(body).0, "end:stop");
}

#[test]
fn a_whole_answer_is_read_as_its_stream_is() {
    let body = r#"{"id":"i","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"p","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"a"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"1"}}],"citations":[{"start":0,"end":1}]},"usage":{"tokens":{"input_tokens":1,"output_tokens":2}}}"#;
    let (got, error) = in_every_way(body.as_bytes());
    assert_eq!(got, "id:i t:px m:a c0#a:f({}) c1#b:g(1) [| Some(0)-Some(1)] u1/2/- end:tool_calls");
    assert!(error.is_none(), "{error:?}");
    for other in ["{}", "[]", "{\"message\":{}}", "<html>"] {
        let (got, error) = in_every_way(other.as_bytes());
        assert!(got.is_empty(), "{other}: {got}");
        assert!(matches!(error, Some(ProviderError::Decode { .. })), "{other}: {error:?}");
    }
}

#[test]
fn errors_of_the_server_are_typed_and_verbatim() {
    let a = content(r#""text":"a""#);
    #[rustfmt::skip]
    let cases = [
        ("in the end",     sse(&[a.clone(), end(r#""finish_reason":"ERROR","error":"too many tokens""#)]), ErrorCode::ContextExceeded, Some(r#""too many tokens""#), "m:a end:ERROR"),
        ("an end, no word", sse(&[end(r#""finish_reason":"ERROR""#)]), ErrorCode::InStream, None, "end:ERROR"),
        ("it took too long", sse(&[a.clone(), end(r#""finish_reason":"TIMEOUT""#)]), ErrorCode::InStream, None, "m:a end:TIMEOUT"),
        ("a whole failure", br#"{"id":"i","finish_reason":"TIMEOUT","message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}"#.to_vec(), ErrorCode::InStream, None, "id:i m:a end:TIMEOUT"),
        ("an event",       b"event: error\ndata: {\"message\":\"too many requests\"}\n\n".to_vec(), ErrorCode::RateLimited, Some(r#"{"message":"too many requests"}"#), ""),
        ("an object",      sse(&[a.clone(), r#"{"error":{"message":"x"}}"#.into()]), ErrorCode::InStream, Some(r#"{"message":"x"}"#), "m:a"),
        ("only a message", sse(&[r#"{"message":"x"}"#.into()]), ErrorCode::InStream, Some(r#"{"message":"x"}"#), ""),
        ("whole",          br#"{"id":"i","message":"x"}"#.to_vec(), ErrorCode::InStream, Some(r#"{"id":"i","message":"x"}"#), ""),
        ("no JSON",        b"event: error\ndata: it broke\n\n".to_vec(), ErrorCode::InStream, None, ""),
    ];
    for (name, body, code, raw, want) in cases {
        let (got, error) = in_every_way(&body);
        let error = error.unwrap();
        assert_eq!((got.as_str(), error.code()), (want, code), "{name}: {error:?}");
        assert_eq!(error.raw().map(Json::as_str), raw, "{name}");
    }
}

#[test]
fn what_cannot_be_decoded_says_where() {
    let first = sse(&[content(r#""text":"a""#)]);
    for bad in ["{\"type\":", "null", "[]x"] {
        let body = [first.clone(), sse(&[bad.to_owned()])].concat();
        let (got, error) = in_every_way(&body);
        assert_eq!(got, "m:a", "{bad}");
        let Some(ProviderError::Decode { offset, .. }) = error else { panic!("{bad}: {error:?}") };
        assert_eq!(offset, first.len() as u64, "{bad}");
    }
}

#[test]
fn a_cut_body_ended_early_wherever_it_is_cut() {
    let body = sse(&[content(r#""text":"aé""#), end(r#""finish_reason":"COMPLETE""#)]);
    for cut in 0..body.len() {
        let (_, error) = read([body.get(..cut).unwrap()]);
        let early =
            matches!(error, Some(ProviderError::EndedEarly { received }) if received == cut as u64);
        assert!(early, "{cut}: {error:?}");
    }
    assert!(read([body.as_slice()]).1.is_none());
}

#[test]
fn progress_tells_when_to_stop_reading() {
    let mut decoder = CohereDecoder::default();
    let mut push = |event: &str| {
        decoder.push(&sse(&[event.to_owned()]), &mut |_| {}).unwrap();
        decoder.progress()
    };
    assert_eq!(push("[DONE]"), Progress::Open);
    assert_eq!(push(&content(r#""text":"a""#)), Progress::Open);
    assert_eq!(push(&end(r#""finish_reason":"COMPLETE""#)), Progress::Complete);
    assert_eq!(push(r#"{"error":"late"}"#), Progress::Failed);
    assert_eq!(push("[DONE]"), Progress::Done);
}
