use std::fmt::Write as _;

use super::OllamaDecoder;
use crate::{BodyDecoder, ContentType, Progress, ProviderError, StreamChunk, sse::SseLimits};
use forgeline_types::{AgentEvent, ErrorCode, FinishReason, Json};

/// The chunks in words: `m:` message, `t:` thinking, `c` calls, `u` usage, `i` items, then the end.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Option<ProviderError>) {
    let mut out = String::new();
    let mut last = None;
    let mut push = |chunk: StreamChunk| {
        if !chunk.content.is_empty() {
            if last != Some(chunk.content_type) {
                out.push_str(if chunk.content_type == ContentType::Thinking {
                    " t:"
                } else {
                    " m:"
                });
            }
            last = Some(chunk.content_type);
            out.push_str(&chunk.content);
        }
        for call in chunk.tool_calls {
            last = None;
            assert!(call.ended, "calls come whole");
            write!(out, " c{}", call.index).unwrap();
            out.push_str(&call.id.map(|id| format!("#{id}")).unwrap_or_default());
            out.push_str(&call.name.map(|name| format!(":{name}")).unwrap_or_default());
            write!(out, "({})", call.arguments).unwrap();
        }
        let details = chunk.details.unwrap_or_default();
        if let (Some(usage), Some(raw)) = (chunk.usage, details.usage_raw) {
            write!(out, " u{:?}/{:?}{raw}", usage.input_tokens, usage.output_tokens).unwrap();
        }
        for event in details.events {
            let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
            write!(out, " i{}", serde_json::to_string(&item).unwrap()).unwrap();
        }
        if chunk.finished {
            let reason = chunk.finish_reason;
            write!(out, " end:{}", reason.as_ref().map_or("-", FinishReason::as_str)).unwrap();
        }
    };
    let mut decoder = OllamaDecoder::default();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut push).err());
    }
    let error = error.or_else(|| decoder.finish(&mut push).err());
    (out.trim_start().to_owned(), error)
}

fn lines(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

const DONE: &str = r#"{"done":true,"done_reason":"stop"}"#;

#[test]
fn every_quirk_reads_the_same_at_every_split() {
    #[rustfmt::skip]
    let cases: [(&str, &[&str], &str); 28] = [
        ("chat",                   &[r#"{"model":"m","message":{"role":"assistant","content":"a"},"done":false}"#, r#"{"message":{"content":"b"}}"#, DONE], "m:ab end:stop"),
        ("generate",               &[r#"{"model":"m","response":"a","done":false}"#, r#"{"thinking":"t","response":""}"#, r#"{"response":"b","context":[1,2],"done":true,"done_reason":"length"}"#], "m:a t:t m:b end:length"),
        ("thinking, then text",    &[r#"{"message":{"content":"","thinking":"a"}}"#, r#"{"message":{"content":"c","thinking":"b"}}"#, DONE], "t:ab m:c end:stop"),
        ("no reason told",         &[r#"{"message":{"content":"a"},"done":true}"#], "m:a end:-"),
        ("a reason of its own",    &[r#"{"done":true,"done_reason":"load"}"#], "end:load"),
        ("whole answer",           &[r#"{"model":"m","message":{"role":"assistant","content":"c","thinking":"t","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true,"done_reason":"stop","eval_count":2}"#], r#"t:t m:c c0:f({}) uNone/Some(2){"eval_count":2} end:stop"#),
        ("counters",               &[r#"{"done":true,"total_duration":5,"load_duration":1,"prompt_eval_count":3,"prompt_eval_duration":2,"eval_count":4,"eval_duration":6}"#], r#"uSome(3)/Some(4){"prompt_eval_count":3,"eval_count":4,"total_duration":5,"load_duration":1,"prompt_eval_duration":2,"eval_duration":6} end:-"#),
        ("counters, odd types",    &[r#"{"done":true,"prompt_eval_count":null,"eval_count":"4","load_duration":1.50}"#], r#"uNone/None{"prompt_eval_count":null,"eval_count":"4","load_duration":1.50} end:-"#),
        ("calls, no id, no index", &[r#"{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"f","arguments":{"a":2}}}]}}"#, DONE], r#"c0:f({"a":1}) c1:f({"a":2}) end:stop"#),
        ("calls in two lines",     &[r#"{"message":{"tool_calls":[{"id":"x","function":{"index":0,"name":"f","arguments":{}}}]}}"#, r#"{"message":{"tool_calls":[{"id":"y","function":{"index":0,"name":"g","arguments":{}}}]}}"#, DONE], "c0#x:f({}) c1#y:g({}) end:stop"),
        ("index beyond",           &[r#"{"message":{"tool_calls":[{"function":{"index":7,"name":"f","arguments":{}}}]}}"#, DONE], "c0:f({}) end:stop"),
        ("arguments as written",   &[r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{ "b": 1.50, "a": "\u65e5\ud83d\ude42\n<\u003c" }}}]}}"#, DONE], r#"c0:f({"b":1.50,"a":"日🙂\n<<"}) end:stop"#),
        ("arguments as text",      &[r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\": 1}"}}]}}"#, DONE], r#"c0:f({"a": 1}) end:stop"#),
        ("arguments absent",       &[r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":null}},{"function":{"name":"g"}},{"function":null},{},null]}}"#, DONE], "c0:f() c1:g() end:stop"),
        ("escaped tool name",      &[r#"{"message":{"tool_calls":[{"function":{"name":"files_x2e_read","arguments":{}}}]}}"#, DONE], "c0:files.read({}) end:stop"),
        ("calls beside message",   &[r#"{"response":"","tool_calls":[{"function":{"name":"f","arguments":{}}}],"done":true}"#], "c0:f({}) end:-"),
        ("null everywhere",        &[r#"{"model":null,"message":null,"response":null,"done":null,"error":null}"#, r#"{"message":{"role":null,"content":null,"thinking":null,"tool_calls":null,"images":null}}"#, DONE], "end:stop"),
        ("wrong types",            &[r#"{"model":7,"message":"x","done":"true","done_reason":[]}"#, r#"{"message":{"content":5,"thinking":{}}}"#, DONE], "end:stop"),
        ("wrong types of lists",   &[r#"{"message":{"content":"a","tool_calls":{"function":{"name":"f"}},"images":"iVBORw0K"}}"#, r#"{"message":{"tool_calls":["f",7,{"id":3,"function":"g"},{"function":{"name":"h","arguments":{}}}],"images":[5,null,{},"/9j/4AAQ"]}}"#, r#"{"tool_calls":"f","image":7,"done":true}"#], r#"m:a c0() c1:h({}) i{"protocol":"ollama","kind":"media","media_type":"image/jpeg","raw":"/9j/4AAQ"} end:-"#),
        ("unknown fields",         &[r#"{"message":{"content":"a","new":{"x":[1]}},"logprobs":[{"token":"a"}],"remote_model":"r"}"#, r#"{"status":"working"}"#, DONE], r#"i{"protocol":"ollama","kind":"other","name":"event:answer.logprobs","raw":[{"token":"a"}]} i{"protocol":"ollama","kind":"other","name":"event:message.new","raw":{"x":[1]}} m:a i{"protocol":"ollama","kind":"other","name":"event:answer.status","raw":"working"} end:stop"#),
        ("a field twice",          &[r#"{"done":false,"message":{"content":"a","content":"b"},"done":true}"#], "m:b end:-"),
        ("lines after the end",    &[r#"{"done":true}"#, r#"{"message":{"content":"no"}}"#, "no JSON"], "end:-"),
        ("blank lines, CRLF",      &["\r", r#"{"message":{"content":"a"}}"#, "", "  \r", "{\"done\":true}\r"], "m:a end:-"),
        ("byte order mark",        &["\u{FEFF}{\"message\":{\"content\":\"a\"}}", DONE], "m:a end:stop"),
        ("torn surrogates",        &[r#"{"message":{"content":"a\ud83d"}}"#, r#"{"message":{"content":"\ude00b"}}"#, DONE], "m:a😀b end:stop"),
        ("half a pair, then none", &[r#"{"message":{"content":"a\ud83d"}}"#, r#"{"message":{"content":"b"}}"#, DONE], "m:a\u{FFFD}b end:stop"),
        ("half a pair at the end", &[r#"{"message":{"content":"a\ud83d"},"done":true}"#], "m:a\u{FFFD} end:-"),
        ("pictures",               &[r#"{"message":{"images":["iVBORw0K"]}}"#, r#"{"response":"","image":"/9j/4AAQ","done":true}"#], r#"i{"protocol":"ollama","kind":"media","media_type":"image/png","raw":"iVBORw0K"} i{"protocol":"ollama","kind":"media","media_type":"image/jpeg","raw":"/9j/4AAQ"} end:-"#),
    ];
    for (name, body, want) in cases {
        let body = lines(body);
        for at in 0..=body.len() {
            let (got, error) = read([&body[..at], &body[at..]]);
            assert_eq!((got.as_str(), error.is_none()), (want, true), "{name} at {at}: {error:?}");
        }
        assert_eq!(read(body.chunks(1)).0, want, "{name}, byte by byte");
    }
}

#[test]
fn an_error_line_comes_last_and_verbatim() {
    let text = r#"{"message":{"content":"a"}}"#;
    #[rustfmt::skip]
    let cases = [
        ("error line",     vec![text, r#"{"error":"the model runner has stopped"}"#],  ErrorCode::InStream,        r#""the model runner has stopped""#, "m:a"),
        ("its kind",       vec![text, r#"{"error":"server is overloaded"}"#],          ErrorCode::Overloaded,      r#""server is overloaded""#,         "m:a"),
        ("as an object",   vec![r#"{"error":{"message":"too many tokens","code":1}}"#], ErrorCode::ContextExceeded, r#"{"message":"too many tokens","code":1}"#, ""),
        ("beside content", vec![r#"{"message":{"content":"a"},"error":"x"}"#],         ErrorCode::InStream,        r#""x""#,                            "m:a"),
        ("facts after it", vec![r#"{"error":"x"}"#, r#"{"error":"y"}"#, DONE],         ErrorCode::InStream,        r#""x""#,                            "end:stop"),
    ];
    for (name, body, code, raw, want) in cases {
        let body = lines(&body);
        for size in [1, 7, body.len()] {
            let (got, error) = read(body.chunks(size));
            let error = error.unwrap();
            assert_eq!((got.as_str(), error.code()), (want, code), "{name}: {error:?}");
            assert_eq!(error.raw().map(Json::as_str), Some(raw), "{name}");
        }
    }
    let none =
        [r#"{"error":""}"#, r#"{"done":true,"error":null}"#].map(|line| lines(&[line, DONE]));
    assert!(none.iter().skip(1).all(|body| read([body.as_slice()]).1.is_none()));
}

#[test]
fn a_body_that_stops_anywhere_ended_early() {
    let calls =
        r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"n":-1.5e3}}}]}}"#;
    let body = lines(&[r#"{"message":{"content":"é"}}"#, calls, DONE]);
    let end = body.len() - 2;
    for at in 0..end {
        let (_, error) = read([&body[..at]]);
        let received = at as u64;
        assert!(
            matches!(error, Some(ProviderError::EndedEarly { received: told }) if told == received),
            "{at}: {error:?}"
        );
    }
    assert!(read([&body[..=end]]).1.is_none(), "the last line end may be missing");
}

#[test]
fn what_cannot_be_decoded_says_what_and_where() {
    let text = r#"{"message":{"content":"a"}}"#;
    let second = text.len() as u64 + 1;
    #[rustfmt::skip]
    let cases: [(&str, &[&str], u64, &str); 8] = [
        ("a bad line",       &[text, r#"{"message":"#],       second, "invalid event data: "),
        ("an open text",     &[text, r#"{"message":{"content":"a"#], second, "invalid event data: "),
        ("a list",           &[text, "[]"],                   second, "invalid event data: "),
        ("behind blanks",    &[text, "", "  ", "oops"],       second + 4, "invalid event data: "),
        ("a web page",       &["<!DOCTYPE html>", "<html>"],  0,      "a web page; check the base URL; it starts with \"<!DOCTYPE html>\""),
        ("a text",           &["404 page not found"],         0,      "not an answer of Ollama; check the base URL"),
        ("events",           &[r#"data: {"choices":[]}"#],    0,      "not an answer of Ollama; check the base URL"),
        ("another protocol", &[r#"{"id":"x","choices":[]}"#], 0,      "not an answer of Ollama; check the base URL"),
    ];
    for (name, body, want, reason) in cases {
        let body = lines(body);
        for size in [1, 7, body.len()] {
            let (_, error) = read(body.chunks(size));
            let Some(ProviderError::Decode { offset, reason: told }) = &error else {
                panic!("{name}: {error:?}");
            };
            assert_eq!(*offset, want, "{name} in {size}s");
            assert!(told.contains(reason), "{name}: {told}");
        }
    }
    let mut small = OllamaDecoder::new(SseLimits::default().max_line_bytes(10));
    let error = small.push(&lines(&[text]), &mut |_| {}).unwrap_err();
    assert!(matches!(error, ProviderError::Decode { offset: 0, .. }), "{error:?}");
}

#[test]
fn who_answers_is_told_once() {
    let line = r#"{"model":"m:1b","message":{"role":"assistant","content":"a"}}"#;
    let mut decoder = OllamaDecoder::default();
    let mut told = Vec::new();
    decoder
        .push(&lines(&[line, line, DONE]), &mut |chunk| {
            let model = chunk.details.and_then(|details| details.model);
            told.extend(chunk.role.map(|role| format!("{role:?} {model:?}")));
        })
        .unwrap();
    assert_eq!(told, [r#"Assistant Some("m:1b")"#]);
}

#[test]
fn progress_tells_when_to_stop_reading() {
    let mut decoder = OllamaDecoder::default();
    let mut push = |line: &str| {
        decoder.push(&lines(&[line]), &mut |_| {}).unwrap();
        decoder.progress()
    };
    assert_eq!(push(r#"{"message":{"content":"a"}}"#), Progress::Open);
    assert_eq!(push(r#"{"error":"late"}"#), Progress::Failed);
    assert_eq!(push(DONE), Progress::Done);
}
