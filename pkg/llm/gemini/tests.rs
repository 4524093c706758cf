use std::fmt::Write as _;

use super::GeminiDecoder;
use crate::{BodyDecoder, ContentType, Progress, ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, ErrorCode, FinishReason, ItemKind, Json};

/// The chunks in words: `m:` message, `t:` thinking, `c` calls, `s:` signatures, `[…]` items, `u`
/// usage, adjacent content joined, then the end.
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
            let id = call.id.map(|id| format!("#{id}")).unwrap_or_default();
            let name = call.name.map(|name| format!(":{name}")).unwrap_or_default();
            let end = if call.ended { "" } else { "…" };
            write!(out, " c{}{id}{name}({}{end})", call.index, call.arguments).unwrap();
            if let Some(signature) = call.signature {
                write!(out, " s:{}", signature.proof).unwrap();
            }
        }
        if let Some(usage) = chunk.usage {
            let counts = [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.reasoning_tokens,
            ];
            let counts = counts.map(|count| count.map_or("-".into(), |count| count.to_string()));
            write!(out, " u{}", counts.join("/")).unwrap();
        }
        let details = chunk.details.unwrap_or_default();
        if let Some(signature) = details.signature {
            assert_eq!(signature.protocol, "gemini");
            write!(out, " s:{}", signature.proof).unwrap();
        }
        if details.ignored_choices > 0 {
            write!(out, " +{}", details.ignored_choices).unwrap();
        }
        for event in details.events {
            let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
            write!(out, " [{} {}]", word(&item.kind), item.raw).unwrap();
        }
        if chunk.finished {
            let reason = chunk.finish_reason;
            write!(out, " end:{}", reason.as_ref().map_or("-", FinishReason::as_str)).unwrap();
        }
    };
    let mut decoder = GeminiDecoder::default();
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut push).err());
    }
    let error = error.or_else(|| decoder.finish(&mut push).err());
    (out.trim_start().to_owned(), error)
}

fn word(kind: &ItemKind) -> String {
    match kind {
        ItemKind::Citation(citation) => format!(
            "cites {} {}-{}",
            citation.url.as_deref().unwrap_or("?"),
            citation.start.map_or("?".into(), |at| at.to_string()),
            citation.end.map_or("?".into(), |at| at.to_string()),
        ),
        ItemKind::ServerToolCall { id, tool_name, arguments } => {
            format!("call #{id} {tool_name} {arguments}")
        }
        ItemKind::ServerToolResult { id, tool_name, is_error } => {
            format!("result #{id} {tool_name} {is_error}")
        }
        ItemKind::Reasoning => "proof".into(),
        ItemKind::Media { media_type } => format!("media {media_type}"),
        ItemKind::Other { name } => format!("other {name}"),
        kind => panic!("{kind:?}"),
    }
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
    let event = |event: &String| format!("data: {event}\r\n\r\n");
    events.iter().map(event).collect::<String>().into_bytes()
}

fn parts(parts: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}},"index":0}}]}}"#)
}

fn candidate(fields: &str) -> String {
    format!(r#"{{"candidates":[{{{fields}}}]}}"#)
}

#[test]
fn every_part_and_every_quirk_is_read() {
    let p = parts;
    let stop = || candidate(r#""finishReason":"STOP""#);
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        ("text and thought",        vec![p(r#"{"text":"a","thought":true},{"text":"b"}"#), p(r#"{"text":"c"}"#)], "t:a m:bc"),
        ("nothing said",            vec![p(r#"{"text":""},{}"#), candidate(r#""content":{"role":"model"}"#), candidate(r#""content":null"#), r#"{"candidates":[]}"#.into(), r#"{"candidates":null,"usageMetadata":null,"error":null}"#.into()], ""),
        ("wrong types",             vec![r#"{"modelVersion":7,"responseId":{},"candidates":[5,{"index":"0","content":{"parts":{"text":"x"}},"finishReason":[]},{"content":{"parts":["a",null,{"text":5}]}}]}"#.into()], ""),
        ("calls, with and without id", vec![p(r#"{"functionCall":{"name":"f","args":{"b": 1.50, "a": "\u65e5 x"}}},{"functionCall":{"id":"i","name":"files_x2e_read","args":{}}}"#), p(r#"{"functionCall":{"name":"g"}}"#)], r#"c0:f({"b":1.50,"a":"日 x"}) c1#i:files.read({}) c2:g({})"#),
        ("args of null",            vec![p(r#"{"functionCall":{"name":"f","args":null}}"#)], "c0:f({})"),
        ("proof of a call",         vec![p(r#"{"functionCall":{"name":"f","args":{}},"thoughtSignature":"S"},{"functionCall":{"name":"g","args":{}}}"#)], "c0:f({}) s:S c1:g({})"),
        ("proof of a thought",      vec![p(r#"{"text":"a","thought":true,"thoughtSignature":"S"},{"text":"b"}"#)], "t:a s:S m:b"),
        ("proof of a text",         vec![p(r#"{"text":"a","thoughtSignature":"S"}"#)], r#"m:a [proof {"thoughtSignature":"S"}]"#),
        ("proof with an empty text", vec![p(r#"{"text":"a"}"#), p(r#"{"text": "","thoughtSignature": "S"}"#)], r#"m:a [proof {"text":"","thoughtSignature":"S"}]"#),
        ("proof alone",             vec![p(r#"{"thoughtSignature":"S"}"#)], r#"[proof {"thoughtSignature":"S"}]"#),
        ("proof of an empty thought", vec![p(r#"{"text":"","thought":true,"thoughtSignature":"S"}"#)], r#"[proof {"text":"","thought":true,"thoughtSignature":"S"}]"#),
        ("code and its result",     vec![p(r#"{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_FAILED"}}"#)],
            r#"[call # code_execution {"language":"PYTHON","code":"1"} {"executableCode":{"language":"PYTHON","code":"1"}}] [result # code_execution false {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}] [result # code_execution true {"codeExecutionResult":{"outcome":"OUTCOME_FAILED"}}]"#),
        ("ids and proof of code",   vec![p(r#"{"executableCode":{"id":"i"},"thoughtSignature":"S"}"#)], r#"[call #i code_execution {"id":"i"} {"executableCode":{"id":"i"},"thoughtSignature":"S"}]"#),
        ("a tool of the server",    vec![p(r#"{"toolCall":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","args":{"q":1}}},{"toolResponse":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","response":{}}}"#)],
            r#"[call #t GOOGLE_SEARCH_WEB {"q":1} {"toolCall":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","args":{"q":1}}}] [result #t GOOGLE_SEARCH_WEB false {"toolResponse":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","response":{}}}]"#),
        ("media",                   vec![p(r#"{"inlineData":{"mimeType":"image/png","data":"AA=="},"thoughtSignature":"S"},{"fileData":{"mimeType":"video/mp4","fileUri":"u"}}"#)],
            r#"[media image/png {"inlineData":{"mimeType":"image/png","data":"AA=="},"thoughtSignature":"S"}] [media video/mp4 {"fileData":{"mimeType":"video/mp4","fileUri":"u"}}]"#),
        ("a part of the future",    vec![p(r#"{"thought":true,"hologram":{"x": 1}}"#)], r#"[other hologram {"thought":true,"hologram":{"x":1}}]"#),
        ("another answer",          vec![r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"SAFETY"},{"index":0,"content":{"parts":[{"text":"a"}]}}]}"#.into(), candidate(r#""index":2"#), candidate(r#""index":1"#)], "+1 m:a +2"),
        ("usage grows",             vec![r#"{"usageMetadata":{"promptTokenCount":3}}"#.into(), r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"toolUsePromptTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":6,"cachedContentTokenCount":2}}"#.into()], "u7/11/2/6 end:stop"),
        ("usage after the end",     vec![stop(), r#"{"usageMetadata":{"promptTokenCount":3}}"#.into()], "end:stop u3/-/-/-"),
        ("usage without an end",    vec![p(r#"{"text":"a"}"#), r#"{"usageMetadata":{"thoughtsTokenCount":3}}"#.into()], "m:a u-/3/-/3"),
        ("two ends",                vec![stop(), p(r#"{"text":"a"}"#), candidate(r#""finishReason":"MAX_TOKENS""#)], "end:stop m:a end:length"),
        ("an end that is none",     vec![candidate(r#""content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED""#)], "m:a"),
        ("filtered",                vec![candidate(r#""finishReason":"PROHIBITED_CONTENT""#)], "end:content_filter"),
        ("a call that failed",      vec![candidate(r#""finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed: f(""#)], r#"[other finishMessage "Malformed: f("] end:MALFORMED_FUNCTION_CALL"#),
        ("wrapped by a gateway",    vec![format!(r#"{{"response":{},"traceId":"x"}}"#, p(r#"{"text":"a"}"#))], "m:a"),
        ("several in an event",     vec![format!("[{},{}]", p(r#"{"text":"a"}"#), stop())], "m:a end:stop"),
        ("[DONE] of a gateway",     vec!["[DONE]".into(), stop(), "[DONE]".into(), p(r#"{"text":"no"}"#)], "end:stop"),
        ("half a character",        vec![p(r#"{"text":"a\ud83d"}"#)], "m:a\u{FFFD}"),
        ("sources",                 vec![candidate(r#""groundingMetadata":{}"#), candidate(r#""groundingMetadata":{"groundingChunks":[{"web":{"uri":"u","title":"t"}},{"retrievedContext":{"uri":"v"}}],"groundingSupports":[{"segment":{"endIndex":4},"groundingChunkIndices":[0,9]}]}"#)],
            r#"[cites u 0-4 {"segment":{"endIndex":4},"groundingChunkIndices":[0,9]}] [cites v ?-? {"retrievedContext":{"uri":"v"}}] [other groundingMetadata {"groundingChunks":[{"web":{"uri":"u","title":"t"}},{"retrievedContext":{"uri":"v"}}],"groundingSupports":[{"segment":{"endIndex":4},"groundingChunkIndices":[0,9]}]}]"#),
        ("repeated words",          vec![candidate(r#""citationMetadata":{"citationSources":[{"startIndex":2,"endIndex":5,"uri":"u"}],"citations":[{"endIndex":3}]}"#)], r#"[cites u 2-5 {"startIndex":2,"endIndex":5,"uri":"u"}] [cites ? 0-3 {"endIndex":3}]"#),
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
fn a_body_that_is_no_stream_is_read_whole() {
    let (a, end) = (parts(r#"{"text":"a"}"#), candidate(r#""finishReason":"STOP""#));
    let list = format!("[{a}\n,\r\n{end}]\n");
    assert_eq!(in_every_way(list.as_bytes()).0, "m:a end:stop");
    assert!(read([list.as_bytes()]).1.is_none());
    for cut in 1..list.len() - 3 {
        let (got, error) = read([list.as_bytes().get(..cut).unwrap()]);
        let is_cut = got.is_empty() || got == "m:a" || got == "m:a end:stop";
        assert!(is_cut, "{cut}: {got}");
        assert_eq!(error.is_none(), got.ends_with("end:stop"), "{cut}: {error:?}");
    }
    let half = format!("[{a},");
    let (_, error) = read([half.as_bytes()]);
    assert!(matches!(error, Some(ProviderError::EndedEarly { .. })), "{error:?}");
    let whole = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}"#;
    let (got, error) = in_every_way(whole.as_bytes());
    assert!(got == "m:a end:stop" && error.is_none(), "{got} {error:?}");
    for other in ["{}", "[]", "[{}]", "{\"message\":1}", "<html>", "[1"] {
        let (got, error) = in_every_way(other.as_bytes());
        assert!(got.is_empty(), "{other}: {got}");
        assert!(matches!(error, Some(ProviderError::Decode { .. })), "{other}: {error:?}");
    }
}

#[test]
fn errors_of_the_server_are_typed_and_verbatim() {
    let a = parts(r#"{"text":"a"}"#);
    let error = r#"{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}"#;
    let quota =
        r#"{"code":429,"message":"Resource has been exhausted.","status":"RESOURCE_EXHAUSTED"}"#;
    #[rustfmt::skip]
    let cases = [
        ("after text",   format!("data: {a}\n\ndata: {{\"error\":{error}}}\n\n"), ErrorCode::Overloaded,  error, "m:a"),
        ("first",        format!("data: {{\"error\":{quota}}}\n\n"),              ErrorCode::RateLimited, quota, ""),
        ("in a list",    format!("[{a},{{\"error\":{error}}}]"),                  ErrorCode::Overloaded,  error, "m:a"),
        ("whole",        format!("{{\"error\":{error}}}"),                        ErrorCode::Overloaded,  error, ""),
    ];
    for (name, body, code, raw, want) in cases {
        let (got, error) = in_every_way(body.as_bytes());
        let error = error.unwrap();
        assert_eq!((got.as_str(), error.code()), (want, code), "{name}: {error:?}");
        assert_eq!(error.raw().map(Json::as_str), Some(raw), "{name}");
    }
    let (_, error) = in_every_way(b"event: error\ndata: it broke\n\n");
    assert!(matches!(error, Some(ProviderError::InStream { raw: None, .. })), "{error:?}");
}

#[test]
fn a_blocked_prompt_is_a_content_filter() {
    let blocked =
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}"#;
    let (got, error) = in_every_way(&sse(&[blocked.to_owned()]));
    assert_eq!(got, "u4/-/-/-");
    let error = error.unwrap();
    assert_eq!((error.code(), error.raw()), (ErrorCode::ContentFiltered, None));
    assert!(error.to_string().contains("SAFETY"), "{error}");
    let only_rated = r#"{"promptFeedback":{"safetyRatings":[]}}"#;
    let (_, error) = in_every_way(&sse(&[only_rated.to_owned()]));
    assert!(matches!(error, Some(ProviderError::EndedEarly { .. })), "{error:?}");
}

// Found: V7, V13
#[test]
fn arguments_in_pieces_become_json_as_they_come() {
    let call = |call: &str| parts(&format!(r#"{{"functionCall":{{{call}}}}}"#));
    let pieces = |pieces: &[(&str, &str)]| {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|(path, value)| format!(r#"{{"jsonPath":"{path}",{value}}}"#))
            .collect();
        call(&format!(r#""partialArgs":[{}],"willContinue":true"#, pieces.join(",")))
    };
    let begin = || call(r#""name":"f","willContinue":true"#);
    let end = || parts(r#"{"functionCall":{}}"#);
    let stop = || candidate(r#""finishReason":"STOP""#);
    let more = r#""stringValue":"a\"","willContinue":true"#;
    #[rustfmt::skip]
    let cases: [(&str, Vec<String>, &str); 8] = [
        ("a text",        vec![begin(), pieces(&[("$.x", more)]), pieces(&[("$.x", r#""stringValue":"b""#)]), end(), stop()], r#"c0:f(…) c0({"x":"a\"…) c0(b"…) c0(}) end:stop"#),
        ("kinds",         vec![begin(), pieces(&[("$.n", r#""numberValue":1.50"#), ("$.t", r#""boolValue":false"#), ("$.o", r#""nullValue":"NULL_VALUE""#)]), end(), stop()], r#"c0:f(…) c0({"n":1.50,"t":false,"o":null…) c0(}) end:stop"#),
        ("nested",        vec![begin(), pieces(&[("$.a.b", r#""numberValue":1"#), ("$.a.l[0].c", r#""numberValue":2"#), ("$.a.l[1]", r#""stringValue":"x""#), ("$['d.e']", r#""boolValue":true"#)]), end(), stop()], r#"c0:f(…) c0({"a":{"b":1,"l":[{"c":2},"x"]},"d.e":true…) c0(}) end:stop"#),
        ("text unended",  vec![begin(), pieces(&[("$.x", more), ("$.y", r#""numberValue":1"#)]), end(), stop()], r#"c0:f(…) c0({"x":"a\"","y":1…) c0(}) end:stop"#),
        ("nothing",       vec![begin(), end(), stop()], "c0:f(…) c0({}) end:stop"),
        ("two, signed",   vec![parts(r#"{"functionCall":{"name":"f","id":"i","willContinue":true},"thoughtSignature":"S"}"#), end(), begin(), end(), stop()], "c0#i:f(…) s:S c0({}) c1:f(…) c1({}) end:stop"),
        ("cut",           vec![begin(), pieces(&[("$.x", more)]), candidate(r#""finishReason":"MAX_TOKENS""#)], r#"c0:f(…) c0({"x":"a\"…) end:length"#),
        ("an empty call", vec![end(), stop()], "end:stop"),
    ];
    for (name, events, want) in cases {
        let (got, error) = in_every_way(&sse(&events));
        assert_eq!(got, want, "{name}");
        assert!(error.is_none(), "{name}: {error:?}");
    }
}

#[test]
fn what_cannot_be_decoded_says_where() {
    let first = sse(&[parts(r#"{"text":"a"}"#)]);
    let piece = |path: &str| format!(r#"{{"jsonPath":"{path}","boolValue":true}}"#);
    let partial = [piece("$.a.b"), piece("$.c"), piece("$.a.d")].join(",");
    let partial = parts(&format!(r#"{{"functionCall":{{"name":"f","partialArgs":[{partial}]}}}}"#));
    for bad in ["{\"candidates\":[", "null", "[{},", "{\"response\":1}", &partial] {
        let body = [first.clone(), sse(&[bad.to_owned()])].concat();
        let (got, error) = in_every_way(&body);
        assert_eq!(got, "m:a", "{bad}");
        let Some(ProviderError::Decode { offset, .. }) = error else { panic!("{bad}: {error:?}") };
        assert_eq!(offset, first.len() as u64, "{bad}");
    }
}

#[test]
fn an_answer_wrapped_without_end_fills_no_stack() {
    let wrapped = format!("{}1{}", "{\"response\":".repeat(100_000), "}".repeat(100_000));
    let (got, error) = read([sse(&[wrapped]).as_slice()]);
    assert!(got.is_empty() && error.is_some(), "{error:?}");
}

#[test]
fn a_cut_body_ended_early_wherever_it_is_cut() {
    let body = sse(&[parts(r#"{"text":"aé"}"#), candidate(r#""finishReason":"STOP""#)]);
    for cut in 0..body.len() - 1 {
        let (_, error) = read([body.get(..cut).unwrap()]);
        let early =
            matches!(error, Some(ProviderError::EndedEarly { received }) if received == cut as u64);
        let is_whole = error.is_none() && cut + 2 >= body.len();
        assert!(early || is_whole, "{cut}: {error:?}");
    }
}

#[test]
fn progress_tells_when_the_answer_is_whole() {
    let mut decoder = GeminiDecoder::default();
    let mut push = |event: &str| {
        decoder.push(&sse(&[event.to_owned()]), &mut |_| {}).unwrap();
        decoder.progress()
    };
    assert_eq!(push(&parts(r#"{"text":"a"}"#)), Progress::Open);
    assert_eq!(push(&candidate(r#""finishReason":"STOP""#)), Progress::Complete);
    assert_eq!(push(r#"{"error":{"message":"late"}}"#), Progress::Failed);
    assert_eq!(push("[DONE]"), Progress::Done);
}
