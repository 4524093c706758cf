use std::fmt::Write as _;

mod dialects;

use super::OpenAiDecoder;
use crate::{BodyDecoder, ContentType, Progress, ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, ErrorCode, FinishReason, Json};

/// The chunks in words: `m:` message, `t:` thinking, `r:` refusal, `c:` calls, adjacent content
/// joined, then the end.
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
        }
        for call in chunk.tool_calls {
            last = None;
            let proof = call.signature.map(|proof| format!("[{}]", proof.proof));
            write!(out, " c{}", call.index).unwrap();
            out.push_str(&call.id.map(|id| format!("#{id}")).unwrap_or_default());
            out.push_str(&call.name.map(|name| format!(":{name}")).unwrap_or_default());
            write!(out, "({}){}", call.arguments, proof.unwrap_or_default()).unwrap();
        }
        if let Some(usage) = chunk.usage {
            write!(out, " u{:?}/{:?}", usage.input_tokens, usage.output_tokens).unwrap();
            let cached = usage.cache_read_tokens.map(|tokens| format!("~{tokens}"));
            out.push_str(&cached.unwrap_or_default());
        }
        for event in chunk.details.iter().flat_map(|details| &details.events) {
            let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
            last = None;
            let kind = serde_json::to_value(&item.kind).unwrap();
            write!(out, " i:{}{}", kind["kind"].as_str().unwrap(), item.raw.as_str()).unwrap();
        }
        if let Some(proof) = chunk.details.as_ref().and_then(|details| details.signature.as_ref()) {
            last = None;
            write!(out, " s:{}", proof.proof).unwrap();
        }
        let ignored = chunk.details.map_or(0, |details| details.ignored_choices);
        if ignored > 0 {
            write!(out, " +{ignored}").unwrap();
        }
        if chunk.finished {
            let reason = chunk.finish_reason;
            write!(out, " end:{}", reason.as_ref().map_or("-", FinishReason::as_str)).unwrap();
        }
    };
    let mut decoder = OpenAiDecoder::default();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut push).err());
    }
    let error = error.or_else(|| decoder.finish(&mut push).err());
    (out.trim_start().to_owned(), error)
}

fn sse(events: &[&str]) -> Vec<u8> {
    events.iter().flat_map(|event| ["data: ", event, "\n\n"]).collect::<String>().into_bytes()
}

/// A chunk whose first choice has this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{{delta}}}}}]}}"#)
}

fn calls(entries: &str) -> String {
    delta(&format!(r#""tool_calls":[{entries}]"#))
}

#[test]
fn every_vendor_s_quirk_is_settled() {
    let c = calls;
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, &str); 47] = [
        ("no choices first",       vec![r#"{"choices":[],"prompt_filter_results":[]}"#.into(), delta(r#""content":"a""#)], "m:a"),
        ("null everywhere",        vec![r#"{"choices":[{"delta":null,"finish_reason":null}],"usage":null,"error":null}"#.into()], ""),
        ("wrong types",            vec![r#"{"id":7,"model":[1],"choices":[{"index":"0","delta":{"content":5,"tool_calls":null,"reasoning":{}},"finish_reason":[]}]}"#.into()], ""),
        ("thinking, two names",    vec![delta(r#""reasoning_content":"a""#), delta(r#""reasoning":"b","content":"c""#)], "t:ab s:reasoning m:c"),
        ("both names at once",     vec![delta(r#""reasoning_content":"a","reasoning":"a""#)], "t:a"),
        ("content as parts",       vec![delta(r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}]"#), delta(r#""content":"c""#)], "t:a m:bc"),
        ("parts, text first",      vec![delta(r#""content":[{"text":"a"},{"thinking":"b"},"c"]"#)], "m:a t:b m:c"),
        ("refusal beside content", vec![delta(r#""content":"a","refusal":"b""#)], "m:a r:b"),
        ("legacy completion",      vec![r#"{"choices":[{"text":"a","index":0}]}"#.into()], "m:a"),
        ("text beside delta",      vec![r#"{"choices":[{"text":"a","delta":{"content":"a"}}]}"#.into()], "m:a"),
        ("legacy function call",   vec![delta(r#""function_call":{"name":"f","arguments":"{"}"#), delta(r#""function_call":{"arguments":"}"}"#)], "c0:f({) c0(})"),
        ("two calls in a chunk",   vec![c(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#)], "c0#a:f({}) c1#b:g({})"),
        ("new id, same index",     vec![c(r#"{"index":0,"id":"a","function":{"name":"f"}}"#), c(r#"{"index":0,"id":"b","function":{"name":"f"}}"#)], "c0#a:f() c1#b:f()"),
        ("same index, alternating", vec![c(r#"{"index":0,"id":"a","function":{"name":"f"}}"#), c(r#"{"index":0,"id":"b","function":{"name":"f"}}"#), c(r#"{"index":0,"id":"a","function":{"arguments":"1"}}"#)], "c0#a:f() c1#b:f() c0(1)"),
        ("empty id goes on",       vec![c(r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#), c(r#"{"index":0,"id":"","function":{"arguments":"1"}}"#), c(r#"{"index":0,"id":null,"function":{"name":null,"arguments":"2"}}"#)], "c0#a:f() c0(1) c0(2)"),
        ("repeated name",          vec![c(r#"{"index":0,"id":"a","function":{"name":"f"}}"#), c(r#"{"index":0,"function":{"name":"f","arguments":"1"}}"#)], "c0#a:f() c0(1)"),
        ("no index, ids",          vec![c(r#"{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}"#), c(r#"{"id":"b","function":{"arguments":"1"}}"#)], "c0#a:f() c1#b:g() c1(1)"),
        ("no index, no id",        vec![c(r#"{"function":{"name":"f","arguments":"1"}}"#), c(r#"{"function":{"arguments":"2"}}"#), c(r#"{"function":{"name":"g"}}"#)], "c0:f(1) c0(2) c1:g()"),
        ("same tool, no id",       vec![c(r#"{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"f","arguments":"{\"a\":2}"}}"#)], r#"c0:f({"a":1}) c1:f({"a":2})"#),
        ("same tool, index 0",     vec![c(r#"{"index":0,"id":"","function":{"name":"f","arguments":"{"}}"#), c(r#"{"index":0,"id":"","function":{"name":"f","arguments":"}"}}"#), c(r#"{"index":0,"id":"","function":{"name":"f","arguments":""}}"#), c(r#"{"index":0,"function":{"arguments":"{"}}"#), c(r#"{"index":0,"function":{"arguments":"}"}}"#)], "c0:f({) c0(}) c1:f({) c1(})"),
        ("name again at the end",  vec![c(r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#), c(r#"{"index":0,"function":{"name":"f","arguments":""}}"#)], "c0:f({})"),
        ("other tool, index 0",    vec![c(r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#), c(r#"{"index":0,"function":{"name":"g"}}"#), c(r#"{"index":0,"function":{"arguments":"{}"}}"#)], "c0:f({}) c1:g() c1({})"),
        ("blanks after the call",  vec![c(r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#), c(r#"{"index":0,"function":{"arguments":" "}}"#)], "c0:f({}) c0( )"),
        ("calls that are no list", vec![delta(r#""tool_calls":{"index":0},"content":"a""#), delta(r#""tool_calls":"f","content":"b""#), delta(r#""tool_calls":[1,"f",[]],"content":"c""#)], "m:abc"),
        ("function of no kind",    vec![delta(r#""function_call":"auto","content":"a""#), delta(r#""function_call":[1],"content":"b""#), c(r#"{"index":0,"id":"a","function":"f"}"#)], "m:ab c0#a()"),
        ("details of no kind",     vec![r#"{"choices":[],"usage":{"prompt_tokens":3,"prompt_tokens_details":7,"completion_tokens_details":[]}}"#.into()], "uSome(3)/None"),
        ("cached, Moonshot",       vec![r#"{"choices":[],"usage":{"prompt_tokens":3,"cached_tokens":2}}"#.into()], "uSome(3)/None~2"),
        ("cached, Mistral",        vec![r#"{"choices":[],"usage":{"prompt_tokens":3,"num_cached_tokens":1}}"#.into()], "uSome(3)/None~1"),
        ("indexes with gaps",      vec![c(r#"{"index":3,"id":"a","function":{"name":"f"}}"#), c(r#"{"index":5,"id":"b","function":{"name":"g"}}"#)], "c0#a:f() c1#b:g()"),
        ("arguments as object",    vec![c(r#"{"index":0,"function":{"name":"f","arguments":{ "b": 1.50, "a": "\u65e5\ud83d\ude42\n" }}}"#)], r#"c0:f({"b":1.50,"a":"日🙂\n"})"#),
        ("arguments null, \"null\"", vec![c(r#"{"index":0,"function":{"name":"f","arguments":null}}"#), c(r#"{"index":1,"function":{"name":"g","arguments":"null"}}"#)], "c0:f() c1:g(null)"),
        ("no function at all",     vec![c(r#"{"index":0,"id":"a","function":null}"#), c("null")], "c0#a()"),
        ("escaped tool name",      vec![c(r#"{"index":0,"function":{"name":"files_x2e_read"}}"#)], "c0:files.read()"),
        ("other choices",          vec![r#"{"choices":[{"index":2,"delta":{"content":"no"}},{"index":0,"delta":{"content":"a"}}]}"#.into(), r#"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#.into()], "m:a +2"),
        ("usage in places",        vec![r#"{"choices":[{"delta":{},"usage":{"prompt_tokens":1}}]}"#.into(), r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":2}}}"#.into(), r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":null}}"#.into()], "uSome(1)/None uSome(2)/None uSome(3)/Some(4)"),
        ("G-21 finish and usage",   vec![r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#.into(), r#"{"choices":[],"usage":{"prompt_tokens":3}}"#.into()], "m:a end:stop uSome(3)/None"),
        ("G-13 torn surrogates",   vec![delta(r#""content":"a\ud83d""#), delta(r#""content":"\ude00b""#)], "m:a😀b"),
        ("pairs over three",       vec![delta(r#""content":"\uD83D""#), delta(r#""content":"\uDE00\ud83d""#), delta(r#""content":"\ude42""#)], "m:😀🙂"),
        ("pair in arguments",      vec![c(r#"{"index":0,"function":{"name":"f","arguments":"\"\ud83d"}}"#), c(r#"{"index":0,"function":{"arguments":"\ude00\""}}"#)], r#"c0:f("😀) c0(")"#),
        ("half a pair, then none", vec![delta(r#""content":"a\ud83d""#), delta(r#""content":"b""#)], "m:a\u{FFFD}b"),
        ("half a pair at the end", vec![delta(r#""content":"a\ud83d""#)], "m:a\u{FFFD}"),
        ("halves inside a text",   vec![delta(r#""content":"\ude00a\ud83d b\\ud83d\\日""#)], "m:\u{FFFD}a\u{FFFD} b\\ud83d\\日"),
        ("half beside a pair",     vec![delta(r#""content":"\ud83d\ud83d\ude00""#)], "m:\u{FFFD}😀"),
        ("calls of wrong types",   vec![delta(r#""content":"a","tool_calls":{"index":0},"function_call":"f""#), c(r#"7,{"index":0,"id":"a","function":"f"}"#)], "m:a c0#a()"),
        ("usage of wrong types",   vec![r#"{"choices":[],"usage":{"prompt_tokens":3,"prompt_tokens_details":"none","completion_tokens_details":[]}}"#.into()], "uSome(3)/None"),
        ("halves in no chunk",     vec![delta(r#""content":"\ud83d""#), r#"{"choices":[{"delta":{"content":"\ude00"}}],"x":["\ude00","\ud83d"]}"#.into(), delta(r#""content":"a""#)], "m:😀 i:other[\"\\ufffd\",\"\\ufffd\"] m:a"),
        ("chunks after the end",   vec!["[DONE]".into(), delta(r#""content":"no""#)], "end:-"),
    ];
    for (name, events, want) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let body = sse(&events);
        for size in [1, 7, body.len()] {
            let (got, error) = read(body.chunks(size));
            assert_eq!(got, want, "{name} in {size}s");
            assert_eq!(error.is_none(), got.contains("end:"), "{name}: {error:?}");
        }
    }
}

#[test]
fn what_of_the_reasoning_must_go_back_is_told_when_it_ends() {
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned();
    let details = |list: &str| delta(&format!(r#""reasoning_details":[{list}]"#));
    let item = |raw: &str| format!("i:reasoning{raw}");
    let content = "s:reasoning_content";
    let both = |text: &str| {
        delta(&format!(
            r#""content":"","reasoning":"{text}","reasoning_details":[{{"type":"reasoning.text","text":"{text}","format":"f","index":0,"signature":null}}]"#
        ))
    };
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, String); 13] = [
        ("before content",     vec![delta(r#""reasoning_content":"a""#), delta(r#""reasoning_content":"b","content":null"#), delta(r#""content":"c""#), end.clone()], format!("t:ab {content} m:c end:stop")),
        ("before a call",      vec![delta(r#""reasoning_content":"a""#), calls(r#"{"index":0,"function":{"name":"f"}}"#), end.clone()], format!("t:a {content} c0:f() end:stop")),
        ("before the end",     vec![delta(r#""reasoning_content":"a""#), end.clone()], format!("t:a {content} end:stop")),
        ("before the marker",  vec![delta(r#""reasoning_content":"a""#), "[DONE]".into()], format!("t:a {content} end:-")),
        ("all in one",         vec![r#"{"choices":[{"message":{"reasoning":"a","content":"b"},"finish_reason":"stop"}]}"#.into()], format!("t:a {} m:b end:stop", "s:reasoning")),
        ("twice",              vec![delta(r#""reasoning":"a""#), delta(r#""content":"b""#), delta(r#""reasoning":"c""#), end.clone()], format!("t:a {0} m:b t:c {0} end:stop", "s:reasoning")),
        ("parts name none",    vec![delta(r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]"#), end.clone()], "t:a end:stop".into()),
        ("details and words",  vec![both(r"a\u65e5\n"), both(r#"b\""#), details(r#"{"type":"reasoning.text","signature":"S","format":"f","index":0}"#), delta(r#""content":"c""#), end.clone()], format!("t:a日\nb\" m:c {} end:stop", item(r#"{"reasoning_details":[{"type":"reasoning.text","text":"a\u65e5\nb\"","format":"f","index":0,"signature":"S"}]}"#))),
        ("details alone",      vec![details(r#"{"type":"reasoning.summary","summary":"a","index":0}"#), details(r#"{"type":"reasoning.summary","summary":"b","index":0}"#), end.clone()], format!("t:ab {} end:stop", item(r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"ab","index":0}]}"#))),
        ("several kinds",      vec![details(r#"{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted","data":"x","id":"1","index":1}"#), details(r#"{"type":"reasoning.encrypted","data":"y","id":"2","index":1},{"type":"reasoning.text","text":"b","index":2}"#), end.clone()], format!("t:ab {} end:stop", item(r#"{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted","data":"x","id":"1","index":1},{"type":"reasoning.encrypted","data":"y","id":"2","index":1},{"type":"reasoning.text","text":"b","index":2}]}"#))),
        ("encrypted, late",    vec![calls(r#"{"index":0,"function":{"name":"f"}}"#), r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","n":1.50}]},"finish_reason":"tool_calls"}]}"#.into()], format!("c0:f() {} end:tool_calls", item(r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","n":1.50}]}"#))),
        ("no details",         vec![details(r#"null,1,"a",[]"#), delta(r#""reasoning_details":{"a":1}"#), delta(r#""reasoning_details":null"#), end.clone()], "end:stop".into()),
        ("text, then null",    vec![details(r#"{"type":"reasoning.text","text":null,"index":0}"#), details(r#"{"type":"reasoning.text","text":"a","index":0}"#), details(r#"{"type":"reasoning.text","text":null,"index":0}"#), end.clone()], format!("t:a {} end:stop", item(r#"{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}"#))),
    ];
    for (name, events, want) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let body = sse(&events);
        for at in 0..body.len() {
            let (start, rest) = body.split_at(at);
            let (got, error) = read([start, rest]);
            assert_eq!(got, want, "{name} cut at {at}");
            assert!(error.is_none(), "{name}: {error:?}");
        }
    }
}

#[test]
fn sources_and_the_server_s_own_tools_are_told() {
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned();
    let listed = |lists: &str| format!(r#"{{{lists},"choices":[{{"delta":{{"content":"a"}}}}]}}"#);
    let cited = r#"{"type":"url_citation","url_citation":{"url":"https://a","title":"A","start_index":0,"end_index":4}}"#;
    let tool = r#"{"index":0,"type":"search","arguments":"{\"query\":\"x\"}"}"#;
    let ran = r#"{"index":0,"type":"search","arguments":"{\"query\":\"x\"}","output":"found"}"#;
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, String); 7] = [
        ("annotation",        vec![delta(r#""content":"a""#), delta(&format!(r#""annotations":[{cited}]"#)), end.clone()], format!("m:a i:citation{cited} end:stop")),
        ("in a message",      vec![format!(r#"{{"choices":[{{"message":{{"content":"a","annotations":[{cited}]}},"finish_reason":"stop"}}]}}"#)], format!("m:a i:citation{cited} end:stop")),
        ("annotations none",  vec![delta(r#""content":"a","annotations":[]"#), delta(r#""annotations":{"a":1}"#), delta(r#""annotations":[null,1]"#), end.clone()], "m:a end:stop".into()),
        ("a file",            vec![delta(r#""annotations":[{"type":"file","file":{}}]"#), end.clone()], r#"i:other{"type":"file","file":{}} end:stop"#.into()),
        ("addresses, latest", vec![listed(r#""citations":["u"]"#), listed(r#""citations":["u","v"]"#), end.clone()], r#"m:aa i:citation"u" i:citation"v" end:stop"#.into()),
        ("results say more",  vec![listed(r#""citations":["u"],"search_results":[{"title":"U","url":"u"}]"#), listed(r#""citations":["u"]"#), "[DONE]".into()], r#"m:aa i:citation{"title":"U","url":"u"} end:-"#.into()),
        ("the server's tool", vec![delta(&format!(r#""executed_tools":[{tool}]"#)), delta(&format!(r#""executed_tools":[{ran}]"#)), delta(&format!(r#""content":"a","executed_tools":[{ran}]"#)), end.clone()], format!("i:server_tool_call{tool} i:server_tool_result{ran} m:a end:stop")),
    ];
    for (name, events, want) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let body = sse(&events);
        for at in 0..body.len() {
            let (start, rest) = body.split_at(at);
            let (got, error) = read([start, rest]);
            assert_eq!(got, want, "{name} cut at {at}");
            assert!(error.is_none(), "{name}: {error:?}");
        }
    }
}

#[test]
fn details_that_are_too_long_do_not_go_back() {
    let detail = format!(
        r#""reasoning_details":[{{"type":"reasoning.text","text":"{}"}}]"#,
        "x".repeat(1 << 20)
    );
    let (detail, end) = (delta(&detail), delta(r#""content":"c""#));
    let mut events = vec![detail.as_str(); 9];
    events.extend([end.as_str(), "[DONE]"]);
    let (got, _) = read([sse(&events).as_slice()]);
    assert!(got.ends_with("x m:c end:-"));
}

#[test]
fn an_error_in_the_stream_comes_last_and_verbatim() {
    let text = delta(r#""content":"a""#);
    #[rustfmt::skip]
    let cases = [
        ("error object",      format!("data: {text}\n\ndata: {{\"error\":{{\"code\":502,\"message\":\"Upstream is Overloaded\"}}}}\n\n"), ErrorCode::Overloaded, r#"{"code":502,"message":"Upstream is Overloaded"}"#, "m:a"),
        ("with choices",      format!("data: {text}\n\ndata: {{\"error\":{{\"message\":\"x\"}},\"choices\":[{{\"delta\":{{\"content\":\"b\"}},\"finish_reason\":\"error\"}}]}}\n\n"), ErrorCode::InStream, r#"{"message":"x"}"#, "m:ab end:error"),
        ("error event",       format!("data: {text}\n\nevent: error\ndata: {{\"message\":\"Context size has been exceeded.\"}}\n\n"), ErrorCode::ContextExceeded, r#"{"message":"Context size has been exceeded."}"#, "m:a"),
        ("error as text",     format!("data: {text}\n\ndata: {{\"error\":\"rate limit\"}}\n\n"), ErrorCode::RateLimited, r#""rate limit""#, "m:a"),
        ("no error object",   format!("data: {text}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"error\"}}]}}\n\ndata: {{\"error\":{{\"message\":\"x\"}}}}\n\n"), ErrorCode::InStream, r#"{"message":"x"}"#, "m:a end:error"),
        ("facts after it",    "data: {\"error\":{\"message\":\"x\"}}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n".to_owned(), ErrorCode::InStream, r#"{"message":"x"}"#, "uSome(1)/None end:-"),
    ];
    for (name, body, code, raw, want) in cases {
        for size in [1, 7, body.len()] {
            let (got, error) = read(body.as_bytes().chunks(size));
            let error = error.unwrap();
            assert_eq!((got.as_str(), error.code()), (want, code), "{name}: {error:?}");
            assert_eq!(error.raw().map(Json::as_str), Some(raw), "{name}");
        }
    }
    let (_, error) = read([&br#"data: {"choices":[{"delta":{},"finish_reason":"error"}]}

data: [DONE]

"#[..]]);
    assert!(matches!(error, Some(ProviderError::InStream { raw: None, .. })), "{error:?}");
    let (_, error) = read([&b"event: error\ndata: it broke\n\n"[..]]);
    assert!(
        matches!(error, Some(ProviderError::InStream { message, raw: None, .. }) if message == "it broke")
    );
}

#[test]
fn g_19_data_without_a_space_and_over_64_kib() {
    let long = "x".repeat(100 << 10);
    let event = delta(&format!(r#""content":"{long}""#));
    let body = format!("data:{event}\n\ndata:[DONE]\n\n");
    for size in [1400, body.len()] {
        let (got, error) = read(body.as_bytes().chunks(size));
        assert_eq!(got, format!("m:{long} end:-"));
        assert!(error.is_none(), "{error:?}");
    }
}

#[test]
fn a_body_that_stops_in_its_first_field_ended_early() {
    for cut in 0..8 {
        let (_, error) = read([b"data: {\"".get(..cut).unwrap()]);
        assert!(matches!(error, Some(ProviderError::EndedEarly { .. })), "{cut}: {error:?}");
    }
}

#[test]
fn what_cannot_be_decoded_says_where() {
    let body = [sse(&[&delta(r#""content":"a""#)]), b"data: {\"choices\":[\n\n".to_vec()].concat();
    let at = sse(&[&delta(r#""content":"a""#)]).len() as u64;
    for size in [1, 7, body.len()] {
        let (got, error) = read(body.chunks(size));
        assert_eq!(got, "m:a");
        let Some(ProviderError::Decode { offset, .. }) = error else { panic!("{error:?}") };
        assert_eq!(offset, at);
    }
}

#[test]
fn half_a_character_outside_an_object_breaks_nothing() {
    let body = sse(&[r#""\ud83d""#, r#"["\ud83d","\ude00"]"#]);
    for size in [1, body.len()] {
        let (got, error) = read(body.chunks(size));
        assert_eq!(got, "");
        assert!(matches!(error, Some(ProviderError::Decode { .. })), "{error:?}");
    }
}

#[test]
fn progress_tells_when_to_stop_reading() {
    let mut decoder = OpenAiDecoder::default();
    let mut push = |event: &str| {
        decoder.push(&sse(&[event]), &mut |_| {}).unwrap();
        decoder.progress()
    };
    assert_eq!(push(&delta(r#""content":"a""#)), Progress::Open);
    assert_eq!(push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#), Progress::Complete);
    assert_eq!(push(r#"{"error":{"message":"late"}}"#), Progress::Failed);
    assert_eq!(push("[DONE]"), Progress::Done);
}
