use std::fmt::Write as _;

use super::AnthropicDecoder;
use crate::{BodyDecoder, ContentType, Progress, ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, ErrorCode, FinishReason, ItemKind, Json};

/// The chunks in words: `m:` message, `t:` thinking, `c` calls, `s:` signatures, `i:` items, `u` usage,
/// adjacent content joined, then the end.
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
            write!(out, " c{}", call.index).unwrap();
            out.push_str(&call.id.map(|id| format!("#{id}")).unwrap_or_default());
            out.push_str(&call.name.map(|name| format!(":{name}")).unwrap_or_default());
            write!(out, "({}){}", call.arguments, if call.ended { "." } else { "" }).unwrap();
        }
        if let Some(usage) = chunk.usage {
            write!(out, " u{:?}/{:?}", usage.input_tokens, usage.output_tokens).unwrap();
        }
        let details = chunk.details.unwrap_or_default();
        if let Some(signature) = details.signature {
            assert_eq!(signature.protocol, "anthropic");
            last = None;
            write!(out, " s:{}", signature.proof).unwrap();
        }
        for event in details.events {
            last = None;
            let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
            let kind = match item.kind {
                ItemKind::Citation(_) => "cite".to_owned(),
                ItemKind::ServerToolCall { id, tool_name, arguments } => {
                    format!("{tool_name}#{id}({arguments})")
                }
                ItemKind::ServerToolResult { id, tool_name, is_error } => {
                    format!("{tool_name}#{id}{}", if is_error { "!" } else { "=" })
                }
                ItemKind::Reasoning => "reasoning".to_owned(),
                ItemKind::Media { media_type } => media_type.to_string(),
                ItemKind::Other { name } => format!("other {name}"),
                kind => panic!("{kind:?}"),
            };
            assert_eq!(item.protocol, "anthropic");
            write!(out, " i:{kind} {}", item.raw).unwrap();
        }
        if let Some(reason) = chunk.finish_reason {
            write!(out, " end:{}", reason.as_str()).unwrap();
        }
        if chunk.finished {
            out.push_str(" .");
        }
    };
    let mut decoder = AnthropicDecoder::default();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut push).err());
    }
    let error = error.or_else(|| decoder.finish(&mut push).err());
    (out.trim_start().to_owned(), error)
}

fn sse(events: &[String]) -> String {
    events.iter().flat_map(|event| ["data: ", event, "\n\n"]).collect()
}

fn start(index: u32, block: &str) -> String {
    format!(
        r#"{{"type":"content_block_start","index":{index},"content_block":{{{block}}}         }}"#
    )
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{{delta}}}}}"#)
}

fn text(index: u32, text: &str) -> String {
    delta(index, &format!(r#""type":"text_delta","text":"{text}""#))
}

fn thinking(index: u32, text: &str) -> String {
    delta(index, &format!(r#""type":"thinking_delta","thinking":"{text}""#))
}

fn arguments(index: u32, piece: &str) -> String {
    let piece = Json::from(serde_json::Value::from(piece));
    delta(index, &format!(r#""type":"input_json_delta","partial_json":{piece}"#))
}

fn signature(index: u32, signature: &str) -> String {
    delta(index, &format!(r#""type":"signature_delta","signature":"{signature}""#))
}

fn stop(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index} }}"#)
}

fn call(index: u32, name: &str) -> String {
    start(index, &format!(r#""type":"tool_use","id":"id{index}","name":"{name}","input":{{}}"#))
}

fn search(index: u32) -> String {
    start(index, r#""type":"server_tool_use","id":"s","name":"web_search","input":{}"#)
}

fn end(reason: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#)
}

const STOP: &str = r#"{"type":"message_stop"}"#;

/// What a body of these events gives, in every two pieces, byte by byte and whole.
fn same_at_every_cut(name: &str, body: &[u8]) -> (String, Option<ProviderError>) {
    let whole = read([body]);
    let shown = format!("{whole:?}");
    assert_eq!(format!("{:?}", read(body.chunks(1))), shown, "{name} byte by byte");
    for cut in 0..body.len() {
        let (one, two) = body.split_at(cut);
        assert_eq!(format!("{:?}", read([one, two])), shown, "{name} cut at {cut}");
    }
    whole
}

#[test]
fn blocks_and_deltas_of_every_kind_are_read() {
    let block_1 = r#""type":"text","text":"a","citations":[{"type":"x","url":"u"},null,7]"#;
    let call_7 = r#""type":"tool_use","id":"i","name":"f","input":{ "b": 1.50, "a": "\u65e5" }"#;
    let result = r#""type":"web_search_tool_result","tool_use_id":"s","content":"#;
    let cite = r#""type":"citations_delta","citation":{"type":"page_location","cited_text":"x"}"#;
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, &str); 33] = [
        ("text in the start",     vec![start(0, block_1), text(0, "b")], r#"m:a i:cite {"type":"x","url":"u"} m:b"#),
        ("no start, no index",    vec![r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#.into()], "m:a"),
        ("delta without a type",  vec![delta(0, r#""text":"a""#), delta(0, r#""thinking":"b""#)], "m:a t:b"),
        ("wrong types",           vec![delta(0, r#""type":7,"text":[1]"#), r#"{"type":"content_block_delta","index":"x","delta":"y"}"#.into(), "null".into(), "[1]".into()], ""),
        ("unknown events, ping",  vec![r#"{"type":"ping"}"#.into(), r#"{"type":"new","delta":{"text":"no"}}"#.into(), "{}".into()], r#"i:other event:new {"type":"new","delta":{"text":"no"}}"#),
        ("signed reasoning",      vec![start(0, r#""type":"thinking","thinking":"","signature":"""#), thinking(0, "a"), signature(0, "S"), stop(0), text(1, "b")], "t:a s:S m:b"),
        ("reasoning in the start", vec![start(0, r#""type":"thinking","thinking":"a","signature":"S""#), signature(0, "T"), stop(0)], "t:a s:S"),
        ("omitted reasoning",     vec![start(0, r#""type":"thinking","thinking":"""#), signature(0, "S"), stop(0)], "s:S"),
        ("empty signature",       vec![start(0, r#""type":"thinking","thinking":"""#), thinking(0, "a"), signature(0, ""), stop(0)], "t:a"),
        ("signature after a call", vec![call(0, "f"), stop(0), start(1, r#""type":"thinking","thinking":"""#), signature(1, "S")], r#"c0#id0:f() c0(). i:reasoning {"type":"thinking","thinking":"","signature":"S"}"#),
        ("signature of another",  vec![start(0, r#""type":"thinking","thinking":"""#), start(1, r#""type":"thinking","thinking":"""#), thinking(1, "b"), signature(0, "S"), signature(1, "T")], r#"t:b i:reasoning {"type":"thinking","thinking":"","signature":"S"} s:T"#),
        ("redacted reasoning",    vec![start(0, r#""type":"redacted_thinking","data":"EmwK""#), stop(0)], r#"i:reasoning {"type":"redacted_thinking","data":"EmwK"}"#),
        ("a call",                vec![call(0, "files_x2e_read"), arguments(0, ""), arguments(0, r#"{"a": "#), arguments(0, "1}"), stop(0)], r#"c0#id0:files.read() c0({"a": ) c0(1}) c0()."#),
        ("a call without any",    vec![call(0, "f"), arguments(0, ""), stop(0)], "c0#id0:f() c0()."),
        ("arguments in the start", vec![start(0, call_7), arguments(0, ""), stop(0)], r#"c0#i:f() c0({"b":1.50,"a":"日"})."#),
        ("both, streamed wins",   vec![start(0, call_7), arguments(0, "{}"), stop(0)], "c0#i:f() c0({}) c0()."),
        ("blocks overlap",        vec![text(0, "a"), call(1, "f"), call(5, "g"), arguments(5, "2"), arguments(1, "1"), text(0, "b"), stop(0), stop(1), stop(5)], "m:a c0#id1:f() c1#id5:g() c1(2) c0(1) m:b c0(). c1()."),
        ("an index again",        vec![call(0, "f"), call(0, "g"), arguments(0, "1"), stop(0)], "c0#id0:f() c0(). c1#id0:g() c1(1) c1()."),
        ("a call without stop",   vec![call(0, "f"), arguments(0, "{"), end("max_tokens"), STOP.into()], "c0#id0:f() c0({) end:length ."),
        ("arguments of nothing",  vec![arguments(3, "{"), stop(4)], ""),
        ("server tool",           vec![search(0), arguments(0, ""), arguments(0, r#"{ "q": "#), arguments(0, r#""\u65e5"}"#), stop(0)], r#"i:web_search#s({"q":"日"}) {"type":"server_tool_use","id":"s","name":"web_search","input":{"q":"日"}}"#),
        ("server tool, cut",      vec![search(0), arguments(0, r#"{"q"#), STOP.into()], r#"i:web_search#s("{\"q") {"type":"server_tool_use","id":"s","name":"web_search","input":"{\"q"} ."#),
        ("MCP tool",              vec![start(0, r#""type":"mcp_tool_use","id":"m","name":"n","server_name":"v","input":{"a":1}"#), stop(0)], r#"i:n#m({"a":1}) {"type":"mcp_tool_use","id":"m","name":"n","server_name":"v","input":{"a":1}}"#),
        ("result",                vec![start(0, &format!(r#"{result}[{{"x": 1}}]"#)), stop(0)], r#"i:web_search#s= {"type":"web_search_tool_result","tool_use_id":"s","content":[{"x":1}]}"#),
        ("result, an error",      vec![start(0, &format!(r#"{result}{{"type":"web_search_tool_result_error"}}"#)), stop(0)], r#"i:web_search#s! {"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error"}}"#),
        ("MCP result, an error",  vec![start(0, r#""type":"mcp_tool_result","tool_use_id":"m","is_error":true"#), stop(0)], r#"i:mcp#m! {"type":"mcp_tool_result","tool_use_id":"m","is_error":true}"#),
        ("citation",              vec![delta(0, cite), text(0, "a")], r#"i:cite {"type":"page_location","cited_text":"x"} m:a"#),
        ("compaction",            vec![start(0, r#""type":"compaction","content":null"#), delta(0, r#""type":"compaction_delta","content":"a\ud83d""#), delta(0, r#""type":"compaction_delta","content":"\ude00b""#), stop(0)], r#"i:other compaction {"type":"compaction","content":"a\ud83d\ude00b"}"#),
        ("unknown block",         vec![start(0, r#""type":"new","n":1.50"#), text(0, "a"), delta(0, r#""type":"new_delta","n":2,"z":null"#), text(1, "b"), stop(0)], r#"m:b i:other new {"type":"new","n":2,"text":"a","z":null}"#),
        ("fallback",              vec![start(0, r#""type":"fallback","from":{"model":"x"}"#), stop(0)], r#"i:other fallback {"type":"fallback","from":{"model":"x"}}"#),
        ("unknown delta",         vec![delta(0, r#""type":"new_delta","n":2"#)], r#"i:other new_delta {"type":"new_delta","n":2}"#),
        ("torn surrogates",       vec![text(0, r"a\ud83d"), text(0, r"\ude00b"), text(0, r"c\ud83d"), STOP.into()], "m:a😀bc\u{FFFD} ."),
        ("nothing after the end", vec![STOP.into(), text(0, "no"), "[DONE]".into()], "."),
    ];
    for (name, events, want) in cases {
        let (got, error) = same_at_every_cut(name, sse(&events).as_bytes());
        assert_eq!(got, want, "{name}");
        assert_eq!(
            error.is_none(),
            got.ends_with('.') && got.contains(" .") || got == ".",
            "{name}: {error:?}"
        );
    }
}

// Covers: T-05
#[test]
fn the_end_tells_why_and_what_it_took() {
    let first = r#"{"type":"message_start","message":{"id":"i","model":"m","role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":null,"tier":"a","output_tokens":1}}}"#;
    let last = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"c"},"container":null},"usage":{"cache_creation_input_tokens":3,"cache_read_input_tokens":null,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}"#;
    let body = sse(&[first.into(), last.into(), STOP.into()]);
    let (got, error) = same_at_every_cut("usage", body.as_bytes());
    assert_eq!(
        got,
        "uSome(15)/Some(1) i:other stop_details {\"type\":\"refusal\",\"category\":\"c\"} \
         uSome(18)/Some(7) end:refusal ."
    );
    assert!(error.is_none(), "{error:?}");
    let mut chunks = Vec::new();
    AnthropicDecoder::default().push(body.as_bytes(), &mut |chunk| chunks.push(chunk)).unwrap();
    let details = chunks[0].details.as_ref().unwrap();
    assert_eq!((details.model.as_deref(), details.response_id.as_deref()), (Some("m"), Some("i")));
    let raw = chunks[2].details.as_ref().unwrap().usage_raw.as_ref().unwrap();
    assert_eq!(
        raw.as_str(),
        r#"{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"tier":"a","output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}"#
    );
    let usage = chunks[2].usage.unwrap();
    assert_eq!((usage.cache_read_tokens, usage.cache_write_tokens), (Some(5), Some(3)));
    assert_eq!(usage.reasoning_tokens, Some(2));
    #[rustfmt::skip]
    let words = [
        ("end_turn",      FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens",    FinishReason::Length),
        ("tool_use",      FinishReason::ToolCalls),
        ("pause_turn",    FinishReason::Pause),
        ("refusal",       FinishReason::Refusal),
        ("model_context_window_exceeded", FinishReason::ContextExceeded),
        ("new",           FinishReason::Other("new".into())),
    ];
    for (word, reason) in words {
        let mut found = None;
        let body = sse(&[end(word)]);
        AnthropicDecoder::default()
            .push(body.as_bytes(), &mut |chunk| found = Some(chunk))
            .unwrap();
        let chunk = found.unwrap();
        assert_eq!(chunk.finish_reason, Some(reason));
        assert_eq!(chunk.details.unwrap().finish_reason_raw.as_deref(), Some(word));
    }
}

#[test]
fn an_answer_that_is_not_streamed_is_read_whole() {
    let body = r#" {"id":"i","type":"message","role":"assistant","model":"m","content":[
        {"type":"thinking","thinking":"a","signature":"S"},{"type":"text","text":"b\ud83d"},
        {"type":"tool_use","id":"t","name":"f","input":{"x": 1}}],
        "stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let (got, error) = same_at_every_cut("whole", body.as_bytes());
    assert_eq!(
        got,
        "uSome(1)/Some(2) t:a s:S m:b\u{FFFD} c0#t:f() c0({\"x\":1}). \
         i:other stop_sequence \"END\" end:stop ."
    );
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn errors_come_last_and_verbatim() {
    let overloaded = r#"{"details":null,"type":"overloaded_error","message":"Overloaded"}"#;
    let wrapped = format!(r#"{{"type":"error","error":{overloaded},"request_id":"r"}}"#);
    let text = sse(&[text(0, "a")]);
    #[rustfmt::skip]
    let cases = [
        ("error event",    format!("{text}event: error\ndata: {wrapped}\n\n"), ErrorCode::Overloaded, Some(overloaded), "m:a"),
        ("by its type",    format!("data: {wrapped}\n\n{text}"),               ErrorCode::Overloaded, Some(overloaded), "m:a"),
        ("without a type", format!("{text}data: {{\"error\":{{\"message\":\"rate limit\"}}}}\n\n"), ErrorCode::RateLimited, Some(r#"{"message":"rate limit"}"#), "m:a"),
        ("bare",           format!("{text}event: error\ndata: {{\"message\":\"x\"}}\n\n"), ErrorCode::InStream, Some(r#"{"message":"x"}"#), "m:a"),
        ("in words",       format!("{text}event: error\ndata: it broke\n\n"),  ErrorCode::InStream, None, "m:a"),
        ("whole body",     wrapped.clone(),                                    ErrorCode::Overloaded, Some(overloaded), ""),
    ];
    for (name, body, code, raw, want) in cases {
        let (got, error) = same_at_every_cut(name, body.as_bytes());
        let error = error.unwrap();
        assert_eq!((got.as_str(), error.code()), (want, code), "{name}: {error:?}");
        assert_eq!(error.raw().map(Json::as_str), raw, "{name}");
    }
}

#[test]
fn a_body_without_its_end_ended_early_and_one_of_another_kind_says_so() {
    let whole = sse(&[text(0, "a"), end("end_turn")]);
    for body in
        [whole.as_str(), &(whole.clone() + "event: data\ndata: [DONE]\n\n"), "", "event: me"]
    {
        let (_, error) = same_at_every_cut("cut", body.as_bytes());
        assert!(matches!(error, Some(ProviderError::EndedEarly { .. })), "{body:?}: {error:?}");
    }
    for body in ["<html>", r#"{"choices":[]}"#, "[1]", r#"{"content":7}"#] {
        let (_, error) = same_at_every_cut("other", body.as_bytes());
        assert!(matches!(error, Some(ProviderError::Decode { .. })), "{body:?}: {error:?}");
    }
    let body = whole.clone() + "data: {\"type\":\n\n";
    let (_, error) = same_at_every_cut("bad", body.as_bytes());
    let Some(ProviderError::Decode { offset, .. }) = error else { panic!("{error:?}") };
    assert_eq!(offset, whole.len() as u64);
}

#[test]
fn progress_tells_when_to_stop_reading() {
    let mut decoder = AnthropicDecoder::default();
    let mut push = |event: &str| {
        decoder.push(sse(&[event.to_owned()]).as_bytes(), &mut |_| {}).unwrap();
        decoder.progress()
    };
    assert_eq!(push(&text(0, "a")), Progress::Open);
    assert_eq!(push(&end("end_turn")), Progress::Open);
    assert_eq!(push(r#"{"type":"error","error":{"message":"late"}}"#), Progress::Failed);
    assert_eq!(push(STOP), Progress::Done);
}

#[test]
fn what_is_no_list_of_members_costs_no_square() {
    let keys: Vec<_> = (0..100_000).map(|at| format!(r#""k{at}":1"#)).collect();
    let body = sse(&[start(0, &format!(r#""type":"new",{}"#, keys.join(","))), STOP.to_owned()]);
    let (got, error) = read([body.as_bytes()]);
    assert!(error.is_none() && got.starts_with("i:other new") && got.len() < 10_000, "{error:?}");
}

#[test]
fn what_is_kept_is_bounded() {
    let mut decoder = AnthropicDecoder::default();
    let opened = (0..).find_map(|index| {
        let event = sse(&[start(index, r#""type":"text""#)]);
        Some((index, decoder.push(event.as_bytes(), &mut |_| {}).err()?))
    });
    let (index, error) = opened.unwrap();
    assert_eq!(index, 1024);
    assert!(matches!(error, ProviderError::Decode { offset, .. } if offset > 0), "{error:?}");

    let piece = "x".repeat(1 << 20);
    for event in
        [arguments(0, &piece), text(0, &piece), search(1).replace("{}", &format!("{piece:?}"))]
    {
        let mut decoder = AnthropicDecoder::default();
        let mut push = |event: &String| {
            decoder.push(sse(std::slice::from_ref(event)).as_bytes(), &mut |_| {}).err()
        };
        assert!(push(&search(0)).is_none());
        let event = |at: u32| event.replace("\"index\":1", &format!("\"index\":{}", at + 1));
        let taken = (0..20).position(|at| push(&event(at)).is_some());
        assert_eq!(taken, Some(7), "8 MiB are kept");
    }

    let mut decoder = AnthropicDecoder::default();
    for at in 0..100 {
        let usage =
            format!(r#"{{"type":"message_delta","usage":{{"{at}{}":1}}}}"#, "k".repeat(1 << 10));
        let mut longest = 0;
        let mut emit = |chunk: StreamChunk| {
            longest = chunk.details.unwrap().usage_raw.unwrap().as_str().len();
        };
        decoder.push(sse(&[usage]).as_bytes(), &mut emit).unwrap();
        assert!(longest < 70 << 10, "{longest}");
    }
}
