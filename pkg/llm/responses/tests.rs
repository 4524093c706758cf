use std::fmt::Write as _;

use super::ResponsesDecoder;
use crate::{BodyDecoder, ContentType, Progress, Protocol, ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, ErrorCode, FinishReason, ItemKind, Json};

/// The chunks in words: `m:` message, `t:` thinking, `r:` refusal, adjacent content joined, `/` the end
/// of a section, `c:` calls, `[…]` items of the vendor's, then the end.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Option<ProviderError>) {
    let mut out = String::new();
    let mut last = None;
    let mut push = |chunk: StreamChunk| {
        if chunk.ends_section {
            out.push('/');
        }
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
            out.push_str(if call.hosted { "(hosted)" } else { "" });
            write!(out, "({}{})", call.arguments, if call.ended { "." } else { "" }).unwrap();
        }
        if let Some(usage) = chunk.usage {
            write!(out, " u{:?}/{:?}", usage.input_tokens, usage.output_tokens).unwrap();
        }
        for event in chunk.details.map(|details| details.events).unwrap_or_default() {
            last = None;
            write!(out, " [{}]", item(&event)).unwrap();
        }
        if chunk.finished {
            let reason = chunk.finish_reason;
            write!(out, " end:{}", reason.as_ref().map_or("-", FinishReason::as_str)).unwrap();
        }
    };
    let mut decoder = ResponsesDecoder::default();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut push).err());
    }
    let error = error.or_else(|| decoder.finish(&mut push).err());
    (out.trim_start().to_owned(), error)
}

fn item(event: &AgentEvent) -> String {
    let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
    assert_eq!(item.protocol, "openai-responses");
    match &item.kind {
        ItemKind::Citation(citation) => format!(
            "cite {} {} {:?}-{:?}",
            citation.url.as_deref().unwrap_or("-"),
            citation.title.as_deref().unwrap_or("-"),
            citation.start,
            citation.end,
        ),
        ItemKind::ServerToolCall { id, tool_name, arguments } => {
            format!("call {id} {tool_name} {arguments}")
        }
        ItemKind::ServerToolResult { id, is_error, .. } => {
            format!("result {id} {}{}", item.raw, if *is_error { " failed" } else { "" })
        }
        ItemKind::Reasoning => format!("reasoning {}", item.raw),
        ItemKind::Media { media_type } => format!("media {media_type}"),
        ItemKind::Other { name } => format!("{name} {}", item.raw),
        kind => panic!("{kind:?}"),
    }
}

fn sse(events: &[&str]) -> Vec<u8> {
    events.iter().flat_map(|event| ["data: ", event, "\n\n"]).collect::<String>().into_bytes()
}

/// An event of this type with these fields.
fn event(kind: &str, fields: &str) -> String {
    format!(r#"{{"type":"response.{kind}",{fields}}}"#)
}

fn text(delta: &str) -> String {
    event(
        "output_text.delta",
        &format!(r#""output_index":0,"content_index":0,"item_id":"m","delta":"{delta}""#),
    )
}

fn summary(index: u32, delta: &str) -> String {
    let fields =
        format!(r#""output_index":0,"summary_index":{index},"item_id":"r","delta":"{delta}""#);
    event("reasoning_summary_text.delta", &fields)
}

fn arguments(index: u32, delta: &str) -> String {
    let fields = format!(r#""output_index":{index},"item_id":"f{index}","delta":"{delta}""#);
    event("function_call_arguments.delta", &fields)
}

fn added(index: u32, item: &str) -> String {
    event("output_item.added", &format!(r#""output_index":{index},"item":{{{item}}}"#))
}

fn done(index: u32, item: &str) -> String {
    event("output_item.done", &format!(r#""output_index":{index},"item":{{{item}}}"#))
}

fn completed(output: &str) -> String {
    let response = format!(r#""response":{{"status":"completed","output":[{output}]}}"#);
    event("completed", &response)
}

const MESSAGE: &str = r#""type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"ab","annotations":[]}]"#;
const CALL: &str =
    r#""type":"function_call","id":"f0","call_id":"c","name":"f","arguments":"{\"a\":1}""#;
const OTHER_CALL: &str =
    r#""type":"function_call","id":"f1","call_id":"d","name":"g","arguments":"{}""#;
const SUMMARY: &str = r#""type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]"#;
const OWN_SEARCH: &str = r#""type":"tool_search_call","id":"t","call_id":"c","execution":"client","status":"completed","arguments":{"query":"q"}"#;
const SERVER_SEARCH: &str = r#""type":"tool_search_call","id":"t","call_id":null,"execution":"server","status":"completed","arguments":{"paths":["a"]}"#;
const SEARCH: &str = r#""type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}"#;

/// Each way of saying the same, and of leaving out what was said.
#[test]
fn what_is_told_several_times_is_told_once() {
    let part = |kind: &str, fields: &str| event(kind, &format!(r#""output_index":0,{fields}"#));
    let text_done = part("output_text.done", r#""content_index":0,"text":"ab""#);
    let part_done =
        part("content_part.done", r#""content_index":0,"part":{"type":"output_text","text":"ab"}"#);
    let call_done =
        part("function_call_arguments.done", r#""item_id":"f0","arguments":"{\"a\":1}""#);
    let begun = r#""type":"function_call","id":"f0","call_id":"c","name":"f","arguments":"""#;
    let all = |item: &str| completed(&format!("{{{item}}}"));
    let none = completed("");
    let looked = r#"c0#c:tool_search() c0({"query":"q"}) c0(.)"#;
    let begun_look = OWN_SEARCH.replace("completed", "in_progress").replace(r#""query":"q""#, "");
    let call = "c0#c:f() c0({\"a\":1}) c0(.)";
    let thought = format!("t:a/b [reasoning {{{SUMMARY}}}]");
    let search = r#"[call w web_search {"type":"search","query":"q"}] [result w null]"#;
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, &str); 31] = [
        ("all of a text",            vec![text("a"), text("b"), text_done.clone(), part_done.clone(), done(0, MESSAGE), all(MESSAGE)], "m:ab"),
        ("its deltas, Codex",        vec![text("a"), text("b"), none.clone()], "m:ab"),
        ("its end",                  vec![text_done, none.clone()], "m:ab"),
        ("the end of the part",      vec![part_done, none.clone()], "m:ab"),
        ("the end of the item",      vec![done(0, MESSAGE), none.clone()], "m:ab"),
        ("the end of the response",  vec![all(MESSAGE)], "m:ab"),
        ("only the beginning",       vec![added(0, MESSAGE), none.clone()], "m:ab"),
        ("no places, no ids",        vec![event("output_text.delta", r#""delta":"ab""#), event("output_item.done", &format!(r#""item":{{{MESSAGE}}}"#)), all(MESSAGE)], "m:ab"),
        ("other ids at each event",  vec![added(0, r#""type":"message","id":"x""#), text("ab"), done(0, &MESSAGE.replace("\"m\"", "\"y\"")), all(&MESSAGE.replace("\"m\"", "\"z\""))], "m:ab"),
        ("a shorter list",           vec![done(0, SUMMARY), text("ab").replace(":0,\"c", ":1,\"c"), all(MESSAGE)], &format!("{thought} m:ab")),
        ("two messages",             vec![text("ab"), completed(&format!("{{{MESSAGE}}},{{{MESSAGE}}}"))], "m:abab"),
        ("content as a text",        vec![all(r#""type":"message","content":"ab""#)], "m:ab"),
        ("part types left out",      vec![all(r#""type":"reasoning","id":"r","summary":[{"text":"a"}]"#)], r#"t:a [reasoning {"type":"reasoning","id":"r","summary":[{"text":"a"}]}]"#),
        ("all of a call",            vec![added(0, begun), arguments(0, r#"{\"a\":1}"#), call_done.clone(), done(0, CALL), all(CALL)], call),
        ("its deltas, Codex",        vec![added(0, begun), arguments(0, r#"{\"a\":1}"#), none.clone()], call),
        ("its arguments' end",       vec![added(0, begun), call_done, done(0, CALL), none.clone()], call),
        ("the end of the call",      vec![done(0, CALL), none.clone()], call),
        ("the end of all",           vec![all(CALL)], call),
        ("a call that only begins",  vec![added(0, CALL), none.clone()], call),
        ("deltas before the name",   vec![arguments(0, r#"{\"a\":1}"#), done(0, CALL)], "c0({\"a\":1}) c0#c:f() c0(.)"),
        ("all of a summary",         vec![added(0, r#""type":"reasoning","id":"r","summary":[]"#), summary(0, "a"), summary(1, "b"), part("reasoning_summary_part.done", r#""summary_index":1,"part":{"type":"summary_text","text":"b"}"#), done(0, SUMMARY), all(SUMMARY)], &thought),
        ("the summary's end",        vec![part("reasoning_summary_text.done", r#""item_id":"r","summary_index":0,"text":"a""#), part("reasoning_summary_text.done", r#""item_id":"r","summary_index":1,"text":"b""#), done(0, SUMMARY), none.clone()], &thought),
        ("reasoning that is cut",    vec![added(0, SUMMARY), summary(0, "a"), none.clone()], "t:a"),
        ("a server's tool",          vec![added(0, &SEARCH.replace("completed", "in_progress")), done(0, SEARCH), all(SEARCH)], search),
        ("its beginning only",       vec![added(0, SEARCH), none.clone()], search),
        ("all of a search",          vec![added(0, &begun_look), done(0, OWN_SEARCH), all(OWN_SEARCH)], looked),
        ("the end of a search",      vec![done(0, OWN_SEARCH), none.clone()], looked),
        ("a search at the end",      vec![all(OWN_SEARCH)], looked),
        ("a search that only begins", vec![added(0, &begun_look), none.clone()], "c0#c:tool_search() c0({})"),
        ("a search of the server's", vec![added(0, SERVER_SEARCH), done(0, SERVER_SEARCH), all(SERVER_SEARCH)], &format!("[tool_search_call {{{SERVER_SEARCH}}}]")),
        ("refusal, by its end",      vec![part("refusal.done", r#""content_index":0,"refusal":"no""#), all(r#""type":"message","content":[{"type":"refusal","refusal":"no"}]"#)], "r:no"),
    ];
    for (name, events, want) in cases {
        assert_reads(name, &events, want);
    }
}

/// Reads the events at every cut, and once more without their end.
fn assert_reads(name: &str, events: &[String], want: &str) {
    let mut events: Vec<_> = events.iter().map(String::as_str).collect();
    let end = completed("");
    let is_whole = events.iter().any(|event| event.contains("response.completed"));
    if !is_whole {
        events.push(&end);
    }
    let body = sse(&events);
    let want = format!("{want} end:stop");
    let want = want.trim_start();
    let pieces = (0..=body.len()).map(|cut| {
        let (left, right) = body.split_at(cut);
        vec![left, right]
    });
    for pieces in pieces.chain([body.chunks(1).collect(), body.chunks(7).collect()]) {
        let (got, error) = read(pieces);
        assert_eq!(got, want, "{name}");
        assert!(error.is_none(), "{name}: {error:?}");
    }
    let cut = sse(&events[..events.len() - 1]);
    let (got, error) = read([cut.as_slice()]);
    assert!(!got.contains("end:"), "{name}: {got}");
    assert!(matches!(error, Some(ProviderError::EndedEarly { .. })), "{name}: {error:?}");
}

#[test]
fn every_server_s_quirk_is_settled() {
    let custom = r#""type":"custom_tool_call","id":"f0","call_id":"c","name":"sh","input":"ls -l""#;
    let begun_custom = r#""type":"custom_tool_call","call_id":"c","name":"sh","input":"""#;
    let approval = r#""type":"mcp_approval_request","id":"a","server_label":"docs","name":"ask","arguments":"{\"q\":1}""#;
    let no_id = CALL.replace(r#""call_id":"c","#, "");
    let cite = r#"{"type":"url_citation","url":"u","title":"t","start_index":1,"end_index":2}"#;
    let file = r#"{"type":"file_citation","file_id":"i","filename":"n","index":3}"#;
    let cited = format!(
        r#""type":"message","content":[{{"type":"output_text","text":"a","annotations":[{cite},{file}]}}]"#
    );
    let annotation =
        event("output_text.annotation.added", &format!(r#""output_index":0,"annotation":{cite}"#));
    let reasoning_text =
        event("reasoning_text.delta", r#""output_index":0,"content_index":0,"delta":"x""#);
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, &str); 34] = [
        ("calls that interleave",    vec![added(0, CALL), added(1, OTHER_CALL), arguments(1, "{}"), arguments(0, r#"{\"a\":1}"#), done(1, OTHER_CALL), done(0, CALL)], "c0#c:f() c1#d:g() c1({}) c0({\"a\":1}) c1(.) c0(.)"),
        ("one place for two calls",  vec![added(0, CALL), added(0, OTHER_CALL), arguments(1, "{}").replace(":1,", ":0,"), arguments(0, "{}")], "c0#c:f() c1#d:g() c1({}) c0({}) c0(.) c1(.)"),
        ("one place for two kinds",  vec![text("a"), added(0, CALL), arguments(0, "{}"), text("b")], "m:a c0#c:f() c0({}) m:b c0(.)"),
        ("one place for two ends",   vec![done(0, MESSAGE), done(0, &MESSAGE.replace("\"m\"", "\"n\""))], "m:abab"),
        ("the beginning twice",      vec![added(0, CALL), added(0, CALL), arguments(0, "{}")], "c0#c:f() c0({}) c0(.)"),
        ("arguments as an object",   vec![done(0, r#""type":"function_call","call_id":"c","name":"f","arguments":{ "b": 1.50, "a": "\u65e5" }"#)], r#"c0#c:f() c0({"b":1.50,"a":"日"}) c0(.)"#),
        ("no arguments at all",      vec![done(0, r#""type":"function_call","call_id":"c","name":"f","arguments":null"#)], "c0#c:f() c0(.)"),
        ("the item's id for a call", vec![added(0, &no_id), done(0, &no_id)], "c0:f() c0#f0() c0({\"a\":1}) c0(.)"),
        ("escaped tool name",        vec![done(0, &CALL.replace("\"f\"", "\"files_x2e_read\""))], "c0#c:files.read() c0({\"a\":1}) c0(.)"),
        ("a call that was cut",      vec![done(0, &format!(r#"{CALL},"status":"incomplete""#))], "c0#c:f() c0({\"a\":1})"),
        ("a custom tool",            vec![added(0, custom), event("custom_tool_call_input.delta", r#""output_index":0,"delta":"ls -l""#), done(0, custom)], "c0#c:sh() c0({\"input\":\"ls -l) c0(\"}.) [custom_tool_call {\"type\":\"custom_tool_call\",\"id\":\"f0\",\"call_id\":\"c\",\"name\":\"sh\",\"input\":\"ls -l\"}]"),
        ("a custom tool's end",      vec![event("custom_tool_call_input.done", r#""output_index":0,"input":"ls -l""#), done(0, custom)], "c0({\"input\":\"ls -l) c0(\"}) c0#c:sh() c0(.) [custom_tool_call {\"type\":\"custom_tool_call\",\"id\":\"f0\",\"call_id\":\"c\",\"name\":\"sh\",\"input\":\"ls -l\"}]"),
        ("a custom tool's text",     vec![added(0, begun_custom), event("custom_tool_call_input.delta", r#""output_index":0,"delta":"a\"\n\\""#), event("custom_tool_call_input.delta", r#""output_index":0,"delta":"\u00e9""#), event("custom_tool_call_input.done", r#""output_index":0,"input":"x""#)], r#"c0#c:sh() c0({"input":"a\"\n\\) c0(é) c0("}) c0(.) [custom_tool_call {"type":"custom_tool_call","call_id":"c","name":"sh","input":""}]"#),
        ("a custom tool, no text",   vec![done(0, begun_custom)], r#"c0#c:sh() c0({"input":""}.) [custom_tool_call {"type":"custom_tool_call","call_id":"c","name":"sh","input":""}]"#),
        ("a custom tool that was cut", vec![done(0, &format!(r#"{custom},"status":"incomplete""#))], r#"c0#c:sh() c0({"input":"ls -l) [custom_tool_call {"type":"custom_tool_call","id":"f0","call_id":"c","name":"sh","input":"ls -l","status":"incomplete"}]"#),
        ("a search beside a call",   vec![added(0, OWN_SEARCH), added(1, OTHER_CALL), arguments(1, "{}"), done(1, OTHER_CALL), done(0, OWN_SEARCH)], "c0#c:tool_search() c1#d:g() c1({}) c1(.) c0({\"query\":\"q\"}) c0(.)"),
        ("a search, as a text",      vec![done(0, &OWN_SEARCH.replace(r#"{"query":"q"}"#, r#""{\"query\":\"q\"}""#))], "c0#c:tool_search() c0({\"query\":\"q\"}) c0(.)"),
        ("a search that was cut",    vec![done(0, &OWN_SEARCH.replace("completed", "incomplete"))], "c0#c:tool_search() c0({\"query\":\"q\"})"),
        ("progress of a search",     vec![event("tool_search_call_arguments.delta", r#""output_index":0,"delta":"{}""#), done(0, OWN_SEARCH)], "c0#c:tool_search() c0({\"query\":\"q\"}) c0(.)"),
        ("raw reasoning, then text", vec![reasoning_text.clone(), text("a").replace(":0,\"c", ":1,\"c"), event("reasoning_text.done", r#""output_index":0,"content_index":0,"text":"x""#)], "t:x m:a"),
        ("summary beside reasoning", vec![summary(0, "a"), reasoning_text], "t:a/x"),
        ("a source, told twice",     vec![text("a"), annotation, done(0, &cited)], "m:a [cite u t Some(1)-Some(2)]"),
        ("sources at the end",       vec![text("a"), done(0, &cited)], "m:a [cite u t Some(1)-Some(2)] [cite - n None-None]"),
        ("the phase of a message",   vec![done(0, r#""type":"message","phase":"commentary","content":[{"type":"output_text","text":"a"}]"#)], "m:a [phase \"commentary\"]"),
        ("a tool that failed",       vec![done(0, r#""type":"mcp_call","id":"x","name":"t","status":"failed","arguments":"{\"a\":1}","error":"no""#)], r#"[call x t {"a":1}] [result x "no" failed]"#),
        ("a call that is asked for", vec![added(0, approval), done(0, approval)], r#"c0#a:docs:ask(hosted)() c0({"q":1}) c0(.)"#),
        ("one without a beginning",  vec![done(0, approval), done(1, CALL)], r#"c0#a:docs:ask(hosted)() c0({"q":1}) c0(.) c1#c:f() c1({"a":1}) c1(.)"#),
        ("what a tool put out",      vec![done(0, r#""type":"code_interpreter_call","id":"x","status":"completed","code":"1+1","outputs":[2]"#)], r#"[call x code_interpreter "1+1"] [result x [2]]"#),
        ("a picture",                vec![done(0, r#""type":"image_generation_call","id":"x","status":"completed","output_format":"webp","result":"AAAA""#)], "[media image/webp]"),
        ("an unknown item",          vec![done(0, r#""type":"compaction", "id":"x""#)], r#"[compaction {"type":"compaction","id":"x"}]"#),
        ("progress of tools",        vec![event("web_search_call.searching", r#""output_index":0"#), event("code_interpreter_call_code.delta", r#""delta":"1""#), event("mcp_list_tools.completed", r#""output_index":0"#), r#"{"type":"keepalive"}"#.into(), "[DONE]".into(), "{}".into()], ""),
        ("unknown events",           vec![r#"{"type":"response.hologram", "x":1.50}"#.into(), text("a")], r#"[event:response.hologram {"type":"response.hologram","x":1.50}] m:a"#),
        ("wrong types everywhere",   vec![r#"{"type":"response.output_text.delta","delta":5,"output_index":"0","item_id":[]}"#.into(), r#"{"type":7,"delta":"a"}"#.into(), event("output_item.done", r#""item":[]"#), event("output_item.added", r#""item":null"#), event("created", r#""response":3"#), event("output_item.done", r#""item":{"type":"message","content":{}}"#)], "[item []]"),
        ("torn surrogates",          vec![text(r"a\ud83d"), text(r"\ude00b"), event("output_text.done", r#""output_index":0,"text":"a\ud83d""#)], "m:a😀b"),
    ];
    for (name, events, want) in cases {
        assert_reads(name, &events, want);
    }
}

#[test]
fn a_lone_surrogate_spoils_no_item() {
    let events = [done(0, &MESSAGE.replace("ab", r"a\ud83d"))];
    assert_reads("at the end", &events, "m:a\u{FFFD}");
    let body = sse(&[&text(r"a\ud83d")]);
    assert_eq!(read([body.as_slice()]).0, "m:a\u{FFFD}");
}

#[test]
fn the_protocol_is_guessed_from_any_beginning() {
    let pretty =
        "{\n  \"id\": \"resp_1\",\n  \"object\": \"response\",\n  \"status\": \"completed\"\n}";
    for body in [pretty.as_bytes(), &sse(&[&text("a")]), &sse(&[&added(0, MESSAGE)])] {
        assert_eq!(Protocol::guess(body), Protocol::OpenAiResponses);
    }
}

#[test]
fn the_type_may_stand_in_the_event_s_name() {
    let body = b"event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n\
        event: response.completed\ndata: {\"response\":{}}\n\n";
    assert_eq!(read([&body[..]]).0, "m:a end:stop");
}

#[test]
fn an_answer_ends_as_its_status_says() {
    #[rustfmt::skip]
    let cases = [
        ("completed",  r#"{"status":"completed","usage":{"input_tokens":1,"output_tokens":2,"output_tokens_details":null}}"#, "uSome(1)/Some(2) end:stop", None),
        ("incomplete", r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#, "end:length", None),
        ("incomplete", r#"{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}"#,    "end:content_filter", None),
        ("incomplete", r#"{"status":"incomplete","incomplete_details":{"reason":"weather"}}"#,           "end:weather", None),
        ("incomplete", r#"{"incomplete_details":null}"#,                                                 "end:incomplete", None),
        ("done",       r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#, "end:length", None),
        ("failed",     r#"{"status":"failed","error":{"code":"server_error","message":"no"}}"#,          "end:-", Some((ErrorCode::InStream, Some(r#"{"code":"server_error","message":"no"}"#)))),
        ("failed",     r#"{"status":"failed","error":null}"#,                                            "end:-", Some((ErrorCode::InStream, None))),
        ("cancelled",  r#"{"status":"cancelled"}"#,                                                      "",      Some((ErrorCode::Cancelled, None))),
    ];
    for (kind, response, want, error) in cases {
        let streamed = sse(&[&event(kind, &format!(r#""response":{response}"#))]);
        let whole = response.replacen('{', r#"{"object":"response","output":[],"#, 1);
        let is_told = response.contains("status");
        for body in [Some(streamed), is_told.then(|| whole.into_bytes())].into_iter().flatten() {
            for size in [1, 7, body.len()] {
                let (got, ended) = read(body.chunks(size));
                assert_eq!(got, want, "{response}");
                let got = ended.as_ref().map(|it| (it.code(), it.raw().map(Json::as_str)));
                assert_eq!(got, error, "{response}");
            }
        }
    }
}

#[test]
fn an_error_in_the_stream_comes_last_and_verbatim() {
    let start = text("a");
    let limit = r#"{"type":"tokens","code":"rate_limit_exceeded","message":"slow"}"#;
    let failed = r#"{"code":"rate_limit_exceeded","message":"slow"}"#;
    let flat = r#"{"type":"error","code":"server_error","message":"no"}"#;
    let nested = format!(r#"{{"type":"error","error":{limit}}}"#);
    let failure = event("failed", &format!(r#""response":{{"status":"failed","error":{failed}}}"#));
    #[rustfmt::skip]
    let cases = [
        ("flat",           vec![start.clone(), flat.into()],                         ErrorCode::InStream,    flat,   "m:a"),
        ("nested",         vec![start.clone(), nested.clone()],                      ErrorCode::RateLimited, limit,  "m:a"),
        ("then failed",    vec![start.clone(), nested.clone(), failure],             ErrorCode::RateLimited, failed, "m:a end:-"),
        ("without a type", vec![format!(r#"{{"error":{limit}}}"#)],                  ErrorCode::RateLimited, limit,  ""),
        ("facts after it", vec![nested, text("b"), completed("")],                   ErrorCode::RateLimited, limit,  "m:b end:stop"),
    ];
    for (name, events, code, raw, want) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let body = sse(&events);
        for size in [1, 7, body.len()] {
            let (got, error) = read(body.chunks(size));
            let error = error.unwrap();
            assert_eq!((got.as_str(), error.code()), (want, code), "{name}: {error:?}");
            assert_eq!(error.raw().map(Json::as_str), Some(raw), "{name}");
        }
    }
    let (_, error) = read([&b"event: error\ndata: it broke\n\n"[..]]);
    assert!(
        matches!(error, Some(ProviderError::InStream { message, raw: None, .. }) if message == "it broke")
    );
}

#[test]
fn a_whole_answer_is_read_and_other_json_is_none() {
    let answer = format!(
        r#" {{"object":"response","status":"completed","output":[{{{SUMMARY}}},{{{MESSAGE}}},{{{CALL}}}]}}"#
    );
    let want =
        format!("t:a/b [reasoning {{{SUMMARY}}}] m:ab c0#c:f() c0({{\"a\":1}}) c0(.) end:stop");
    for size in [1, 7, answer.len()] {
        let (got, error) = read(answer.as_bytes().chunks(size));
        assert_eq!(got, want);
        assert!(error.is_none(), "{error:?}");
    }
    let (_, error) = read([&br#"{"error":{"message":"no","code":"x"}}"#[..]]);
    assert!(matches!(error, Some(ProviderError::InStream { .. })), "{error:?}");
    let (_, error) = read([&br#"{"object":"response","status":"queued","output":[]}"#[..]]);
    assert!(matches!(error, Some(ProviderError::Decode { .. })), "{error:?}");
    for body in ["{}", "[]", "<html>", r#"{"a":1}"#] {
        let (got, error) = read([body.as_bytes()]);
        assert!(matches!(error, Some(ProviderError::Decode { .. })), "{body}: {error:?}");
        assert_eq!(got, "");
    }
}

#[test]
fn what_cannot_be_decoded_says_where() {
    let start = sse(&[&text("a")]);
    let body = [start.as_slice(), b"data: {\"type\":\n\n"].concat();
    for size in [1, 7, body.len()] {
        let (got, error) = read(body.chunks(size));
        assert_eq!(got, "m:a");
        let Some(ProviderError::Decode { offset, .. }) = error else { panic!("{error:?}") };
        assert_eq!(offset, start.len() as u64);
    }
}

#[test]
fn every_part_of_a_long_answer_is_told() {
    let parts: Vec<_> =
        (0..200).map(|at| format!(r#"{{"type":"output_text","text":"{at},"}}"#)).collect();
    let item = format!(r#""type":"message","content":[{}]"#, parts.join(","));
    let want: Vec<_> = (0..200).map(|at| format!("{at},")).collect();
    let (got, _) = read([sse(&[&done(0, &item)]).as_slice()]);
    assert_eq!(got, format!("m:{}", want.concat()));
}

#[test]
fn beginnings_that_are_kept_are_bounded() {
    let mut decoder = ResponsesDecoder::default();
    let long = format!(r#""type":"x","a":"{}""#, "x".repeat(1 << 20));
    let refused =
        (0..40).position(|at| decoder.push(&sse(&[&added(at, &long)]), &mut |_| {}).is_err());
    assert_eq!(refused, Some(15), "16 MiB are kept");
}

#[test]
fn a_response_of_endless_items_is_refused() {
    let mut decoder = ResponsesDecoder::default();
    let body = sse(&[&added(0, r#""type":"x""#).replace(r#""output_index":0,"#, "")]);
    let refused = (0..10_000).find_map(|_| decoder.push(&body, &mut |_| {}).err());
    assert!(matches!(refused, Some(ProviderError::Decode { .. })), "{refused:?}");
}

#[test]
fn progress_tells_when_to_stop_reading() {
    let progress = |events: &[&str]| {
        let mut decoder = ResponsesDecoder::default();
        decoder.push(&sse(events), &mut |_| {}).unwrap();
        decoder.progress()
    };
    let (text, end, failed) = (text("a"), completed(""), event("failed", r#""response":{}"#));
    assert_eq!(progress(&[&text]), Progress::Open);
    assert_eq!(progress(&[&text, "[DONE]"]), Progress::Open);
    assert_eq!(progress(&[&text, &end]), Progress::Done);
    assert_eq!(progress(&[&text, &failed]), Progress::Failed);
    assert_eq!(progress(&[r#"{"type":"error"}"#, &end]), Progress::Failed);
    assert_eq!(progress(&[&end, r#"{"type":"error"}"#]), Progress::Done);
}
