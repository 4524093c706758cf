//! Bodies that showed a defect, and bodies of our own with the same shapes: what they come to at every
//! cut.

use std::{fmt::Write as _, fs, path::Path};

use forgeline::{
    llm::{Protocol, Provider, ProviderError, Request, collect},
    testing::replay::{ChunkSizes, ReplayProvider},
    types::{CallOutcome, Completion, ItemKind, Part},
};
use forgeline_testkit::recorded::{self, json};
use serde_json::Value;

/// The longest body that is cut everywhere.
const SHORT: usize = 3000;

async fn replay(
    protocol: Protocol,
    body: &[u8],
    size: usize,
) -> (Completion, Option<ProviderError>) {
    let provider =
        ReplayProvider::new([body.to_vec()]).protocol(protocol).chunks(ChunkSizes::Bytes(size));
    let stream = provider.stream_completion(Request::default()).await.unwrap();
    match collect(stream).await {
        Ok(completion) => (completion, None),
        Err(ProviderError::Aborted { partial, source, .. }) => (*partial, Some(*source)),
        Err(error) => (Completion::default(), Some(error)),
    }
}

/// What an answer came to, in words.
fn words((answer, error): &(Completion, Option<ProviderError>)) -> String {
    let mut out = String::new();
    for part in &answer.parts {
        match part {
            Part::Text { text, .. } => write!(out, " m:{text}"),
            Part::Thinking { text, signature, .. } => {
                let proof = signature.as_ref().map(|proof| format!("[{}]", proof.proof));
                write!(out, " t:{text}{}", proof.unwrap_or_default())
            }
            Part::ToolCall(call) => {
                let proof = call.signature.as_ref().map(|proof| format!("[{}]", proof.proof));
                let state = match &call.outcome {
                    CallOutcome::Complete => "",
                    CallOutcome::Incomplete => " incomplete",
                    CallOutcome::Malformed { .. } | _ => " malformed",
                };
                let (name, raw) = (&call.name, &call.arguments_raw);
                write!(out, " c:{name}({raw}){}{state}", proof.unwrap_or_default())
            }
            Part::ProviderItem(item) => match &item.kind {
                ItemKind::Citation(_) => write!(out, " i:citation"),
                ItemKind::ServerToolCall { tool_name, .. } => write!(out, " i:call:{tool_name}"),
                ItemKind::ServerToolResult { .. } => write!(out, " i:result"),
                ItemKind::Media { media_type, .. } => write!(out, " i:{media_type}"),
                ItemKind::Other { name, .. } => write!(out, " i:{name}"),
                ItemKind::Reasoning | _ => write!(out, " i:{}", item.raw),
            },
            other @ (Part::ToolResult(_) | Part::Image { .. } | Part::Document { .. } | _) => {
                panic!("{other:?}")
            }
        }
        .unwrap();
    }
    if !answer.refusal.is_empty() {
        write!(out, " r:{}", answer.refusal).unwrap();
    }
    if let Some(reason) = &answer.finish_reason {
        write!(out, " end:{}", reason.as_str()).unwrap();
    }
    if let Some(error) = error {
        let code = serde_json::to_value(error.code()).unwrap();
        write!(out, " error:{}:{error}", code.as_str().unwrap()).unwrap();
    }
    out.trim_start().to_owned()
}

/// Reads a body in pieces of every size, of which each cuts it elsewhere; all must say the same.
async fn in_every_way(
    name: &str,
    protocol: Protocol,
    body: &[u8],
) -> (Completion, Option<ProviderError>) {
    let whole = replay(protocol, body, body.len()).await;
    let step = (body.len() / SHORT) * 7 + 1;
    for size in (1..body.len()).step_by(step) {
        let cut = replay(protocol, body, size).await;
        assert_eq!(words(&cut), words(&whole), "{name} in pieces of {size}");
    }
    whole
}

fn sse(events: &[&str]) -> Vec<u8> {
    events.iter().flat_map(|event| ["data: ", event, "\n\n"]).collect::<String>().into_bytes()
}

// Found: V2, V8
#[tokio::test]
async fn messages_whose_start_has_the_content_and_starts_inside_messages() {
    let start = |content: &str, more: &str| {
        format!(
            r#"{{"type":"message_start","message":{{"id":"m1","role":"assistant","content":[{content}]{more}}}}}"#
        )
    };
    let call = r#"{"type":"tool_use","id":"t1","name":"roll","input":{"of":6},"caller":{"type":"code_execution_x","tool_id":"s1"}}"#;
    let direct = r#"{"type":"tool_use","id":"t1","name":"roll","input":{"of":6},"caller":{"type":"direct"}}"#;
    let of_code = start(call, r#","stop_reason":"tool_use","container":{"id":"c1"}"#);
    let of_model = start(direct, "");
    let of_text = start(r#"{"type":"text","text":"Hi"}"#, "");
    let empty = start("", r#","stop_reason":null"#);
    let begun = |block: &str| {
        format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#)
    };
    let text =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#;
    let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"of\""}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let (open, tool) = (
        begun(r#"{"type":"text","text":""}"#),
        begun(r#"{"type":"tool_use","id":"t1","name":"roll","input":{}}"#),
    );
    let cut = "error:ended_early:the server reported an error in the stream: the answer was cut: another one begins before its end";
    let proof = r#"[{"caller":{"type":"code_execution_x","tool_id":"s1"}}]"#;
    let whole = format!(
        r#"{{"type":"message","role":"assistant","content":[{call}],"stop_reason":"tool_use"}}"#
    );
    #[rustfmt::skip]
    let cases: [(&str, Vec<&str>, String); 9] = [
        ("a call of code",    vec![&of_code, stop], format!(r#"c:roll({{"of":6}}){proof} i:container end:tool_calls"#)),
        ("cut after it",     vec![&of_code], format!(r#"c:roll({{"of":6}}){proof} i:container end:tool_calls error:ended_early:{}"#, early(&[&of_code]))),
        ("streamed as well",  vec![&of_text, &open, text, end, stop], "m:Hi end:stop".into()),
        ("goes on after it", vec![&of_text, end, stop], "m:Hi end:stop".into()),
        ("sent twice",        vec![&empty, &empty, &open, text, end, stop], "m:Hi end:stop".into()),
        ("inside a text",     vec![&empty, &open, text, &empty, &open, text, end, stop], format!("m:Hi {cut}")),
        ("inside a call",     vec![&empty, &tool, piece, &empty, &open, text, end, stop], format!(r#"c:roll({{"of") incomplete {cut}"#)),
        ("behind the end",    vec![&empty, &open, text, end, stop, &empty, &open, text], "m:Hi end:stop".into()),
        ("of the model",      vec![&of_model, end, stop], r#"c:roll({"of":6}) end:stop"#.into()),
    ];
    for (name, events, want) in cases {
        let got = in_every_way(name, Protocol::Anthropic, &sse(&events)).await;
        assert_eq!(words(&got), want, "{name}");
    }
    let got = in_every_way("whole", Protocol::Anthropic, whole.as_bytes()).await;
    assert_eq!(words(&got), format!(r#"c:roll({{"of":6}}){proof} end:tool_calls"#));
}

fn early(events: &[&str]) -> String {
    ProviderError::ended_early(sse(events).len() as u64).to_string()
}

// Found: V4, V12, V15
#[tokio::test]
async fn calls_of_responses_that_are_the_server_s_or_have_more_to_them() {
    let created = |tools: &str| {
        format!(r#"{{"type":"response.created","response":{{"id":"r1","tools":[{tools}]}}}}"#)
    };
    let call = |id: &str, call_id: &str, name: &str, input: &str| {
        format!(
            r#"{{"type":"custom_tool_call","id":"{id}","call_id":"{call_id}","name":"{name}","input":"{input}","status":"completed"}}"#
        )
    };
    let added = |item: &str| {
        format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#)
    };
    let done = |item: &str| {
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#)
    };
    let delta = |id: &str| {
        format!(
            r#"{{"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"{id}","delta":"x"}}"#
        )
    };
    let over =
        r#"{"type":"response.completed","response":{"id":"r1","status":"completed","output":[]}}"#;
    let listed = |item: &str| {
        format!(
            r#"{{"type":"response.completed","response":{{"id":"r1","status":"completed","output":[{item}]}}}}"#
        )
    };
    let none = created("");
    let search = created(r#"{"type":"x_search"}"#);
    let sql = created(r#"{"type":"custom","name":"sql"}"#);
    let space =
        created(r#"{"type":"namespace","name":"n","tools":[{"type":"custom","name":"sql"}]}"#);
    let own = [call("ctc_1", "call_1", "sql", ""), call("ctc_1", "call_1", "sql", "x")];
    let xai = [
        call("ctc_r_xs_call_7", "xs_call_7", "find", ""),
        call("ctc_r_xs_call_7", "xs_call_7", "find", "x"),
    ];
    let agent = r#"c:sql({"input":"x"}) i:custom_tool_call end:stop"#;
    let server = "i:call:find i:result end:stop";
    let caller = r#"{"type":"function_call","id":"fc","call_id":"call_1","name":"f","arguments":"{}","status":"completed","caller":{"type":"program","caller_id":"p"}}"#;
    let signed = r#"c:f({})[{"caller":{"type":"program","caller_id":"p"}}] end:stop"#;
    let shell = r#"{"type":"shell_call","id":"s","call_id":"c","action":{"commands":["ls"]},"status":"completed"}"#;
    let shell_delta =
        r#"{"type":"response.shell_call_command.delta","output_index":0,"delta":"ls"}"#;
    let patch_delta =
        r#"{"type":"response.apply_patch_call_operation_diff.delta","output_index":0,"delta":"+"}"#;
    let other = r#"{"type":"response.created","response":{"id":"r2"}}"#;
    let cut = "error:ended_early:the server reported an error in the stream: the answer was cut: another one begins before its end";
    let sent = |calls: &[String; 2], id: &str| vec![added(&calls[0]), delta(id), done(&calls[1])];
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        ("the agent's",          [vec![sql.clone()], sent(&own, "ctc_1"), vec![over.into()]].concat(), agent),
        ("in a namespace",       [vec![space], sent(&own, "ctc_1"), vec![over.into()]].concat(), agent),
        ("nothing is said",      [vec![none.clone()], sent(&own, "ctc_1"), vec![over.into()]].concat(), agent),
        ("not offered",          [vec![search], sent(&xai, "ctc_r_xs_call_7"), vec![over.into()]].concat(), server),
        ("by its id",            [vec![none.clone()], sent(&xai, "ctc_r_xs_call_7"), vec![over.into()]].concat(), server),
        ("listed at the end",    vec![sql, listed(&xai[1])], server),
        ("of a program",         vec![none.clone(), added(caller), done(caller), over.into()], signed),
        ("listed, of a program", vec![none.clone(), listed(caller)], signed),
        ("shell",                vec![none.clone(), added(shell), shell_delta.into(), patch_delta.into(), done(shell), over.into()], "i:shell_call end:stop"),
        ("another begins",       vec![none.clone(), added(shell), done(shell), other.into(), over.into()], cut),
        ("begins twice",         vec![none.clone(), none, added(shell), done(shell), over.into()], "i:shell_call end:stop"),
    ];
    for (name, events, want) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let got = in_every_way(name, Protocol::OpenAiResponses, &sse(&events)).await;
        assert_eq!(words(&got), want, "{name}");
    }
}

// Found: V8, V15
#[tokio::test]
async fn errors_and_answers_inside_answers_of_every_protocol() {
    let said = "error:overloaded:the server reported an error in the stream: Model is overloaded; try again later";
    for &protocol in Protocol::ALL {
        for body in [
            r#"{"detail":"Model is overloaded"}"#,
            r#"{"error_code":3,"error_msg":"Model is overloaded"}"#,
            r#"{"errors":[{"message":"Model is overloaded"}]}"#,
            r#"{"message":"Model is overloaded"}"#,
        ] {
            let lines = matches!(protocol, Protocol::Ollama | Protocol::OllamaGenerate);
            let stream = if lines { format!("{body}\n").into_bytes() } else { sse(&[body]) };
            for body in [stream, body.as_bytes().to_vec()] {
                let got = in_every_way(protocol.name(), protocol, &body).await;
                assert_eq!(words(&got), said, "{protocol}: {}", String::from_utf8_lossy(&body));
            }
        }
    }
    let start = r#"{"type":"message-start","id":"a","delta":{"message":{"role":"assistant"}}}"#;
    let text =
        r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}"#;
    let got = in_every_way("cohere", Protocol::Cohere, &sse(&[start, text, start, text])).await;
    assert!(words(&got).starts_with("m:Hi error:ended_early:"), "{}", words(&got));
}

// Found: V13, V14
#[tokio::test]
async fn calls_that_are_none() {
    let cohere = |message: &str| {
        format!(r#"{{"type":"content-delta","index":0,"delta":{{"message":{{{message}}}}}}}"#)
    };
    let empty = r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{}}}}"#;
    let end = r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#;
    let said = r#""content":{"text":"a"}"#;
    let ollama = "{\"message\":{\"content\":\"a\",\"tool_calls\":[{}]},\"done\":true}\n";
    let bodies = [
        (Protocol::Cohere, sse(&[&cohere(said), empty, end])),
        (Protocol::Ollama, ollama.as_bytes().to_vec()),
    ];
    for (protocol, body) in bodies {
        let got = in_every_way(protocol.name(), protocol, &body).await;
        assert!(words(&got).starts_with("m:a") && !words(&got).contains("c:"), "{}", words(&got));
    }
}

// Found: V15
#[test]
fn the_protocol_is_guessed_of_whole_answers_and_of_long_first_events() {
    let long = "x".repeat(40 << 10);
    let created = format!(
        r#"{{"response":{{"instructions":"{long}","object":"response"}},"type":"response.created"}}"#
    );
    let chunk = format!(
        r#"{{"choices":[{{"delta":{{"content":"{long}"}}}}],"object":"chat.completion.chunk"}}"#
    );
    #[rustfmt::skip]
    let cases = [
        (Protocol::Anthropic,       r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"a"}]}"#.to_owned()),
        (Protocol::Anthropic,       "{\n  \"type\": \"message\",\n  \"content\": []\n}".to_owned()),
        (Protocol::Cohere,          r#"{"id":"c","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},"finish_reason":"COMPLETE"}"#.to_owned()),
        (Protocol::OpenAiResponses, r#"{"output":[{"type":"message","content":[]}],"object":"response"}"#.to_owned()),
        (Protocol::OpenAiResponses, format!("data: {created}\n\n")),
        (Protocol::OpenAiChat,      format!("data: {chunk}\n\n")),
        (Protocol::OpenAiChat,      r#"{"choices":[{"message":{"content":"{\"candidates\":1}"}}]}"#.to_owned()),
        (Protocol::Gemini,          "data: {\"response\":{\"candidates\":[]}}\r\n\r\n".to_owned()),
        (Protocol::Ollama,          "{\"model\":\"m\",\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true}\n".to_owned()),
        (Protocol::OllamaGenerate,  "{\"model\":\"m\",\"response\":\"a\",\"done\":false}\n".to_owned()),
    ];
    for (protocol, body) in cases {
        let start: String = body.chars().take(80).collect();
        assert_eq!(Protocol::guess(body.as_bytes()), protocol, "{start}");
    }
}

/// What must come of the bodies that showed a defect, by the beginnings of their names.
#[rustfmt::skip]
const FOUND: [(&str, &str); 17] = [
    ("anthropic-spliced",       "t:I will call the tool.[sig-first] c:test-tool({\"value\":\"Spark) incomplete error:ended_early:"),
    ("chat-custom-tool",        "c:run_sql({\"input\":\"SELECT 1\"})[{\"type\":\"custom\"}] end:tool_calls"),
    ("chat-databricks",         "t:Let me think. m:Answer. i:{\"content\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Let me think.\",\"signature\":\"SIG\"}]}]} end:stop"),
    ("chat-detail-error",       "error:overloaded:the server reported an error in the stream: Model is overloaded; try again later"),
    ("chat-ernie",              "error:in_stream:the server reported an error in the stream: the max input characters is 11200"),
    ("chat-gemini-compat",      "c:weather({\"city\":\"Paris\"})[SIG-OPAQUE-123] end:tool_calls"),
    ("chat-images",             "m:Here: i:image/png end:stop"),
    ("chat-litellm",            "t:hm m:A i:{\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"SIGBLOCK\"}]} end:stop"),
    ("chat-minimax",            "error:quota_exhausted:the server reported an error in the stream: insufficient balance; the account's quota is used up: raise it, or use another account"),
    ("chat-mistral",            "m:Paris i:citation i:citation m: is it. end:stop"),
    ("copilot-opaque",          "i:{\"reasoning_opaque\":\"/PMlTqxqSJZnUBDHgnnJKLVI4eZQ\"} end:stop"),
    ("copilot-reasoning",       "i:{\"reasoning_opaque\":\"4CUQ6696CwSXOdQ5rtvDimqA91tBzfmga4ieRbmZ5P67T2NLW3\"} end:tool_calls"),
    ("length-empty",            "c:file_report() incomplete end:length"),
    ("perplexity-whole",        "m:Hello. end:stop"),
    ("google-stream",           "c:getWeather({\"location\":\"San Francisco\"}) end:stop"),
    ("programmatic",            "i:container end:tool_calls"),
    ("xai-x-search",            "i:call:x_keyword_search i:result m:A recent announcement"),
];

// Found: V2, V3, V4, V5, V6, V7, V8, V9, V10, V11, V13, V15
#[tokio::test]
async fn bodies_that_showed_a_defect_are_read() {
    let Some(folder) = recorded::found() else { return };
    let mut read = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if !matches!(ending, "sse" | "ndjson") && !name.ends_with(".body.json") {
            continue;
        }
        let body = recorded::read_bytes(&path);
        let protocol = Protocol::guess(&body);
        let answer = in_every_way(&name, protocol, &body).await;
        let got = words(&answer);
        if let Some((_, want)) = FOUND.iter().find(|(start, _)| name.starts_with(start)) {
            assert!(got.contains(want), "{name}: {got}");
        }
        compare(&path, &answer.0);
        read += 1;
    }
    forgeline_testkit::say(format!("read {read} bodies that showed a defect"));
    assert!(read >= 18, "{read}");
}

/// Compares with the result beside a body, if there is one.
fn compare(path: &Path, answer: &Completion) {
    let beside = path.with_extension("expected.json");
    if !beside.is_file() {
        return;
    }
    let expected = json(&beside);
    let calls = answer.tool_calls.iter().map(|call| (&*call.name, call.arguments_raw.as_str()));
    let wanted = expected["tool_calls"].as_array().unwrap().iter();
    let wanted = wanted.map(|call| (call["name"].as_str(), call["arguments"].as_str()));
    let calls: Vec<_> = calls.map(|(name, arguments)| (Some(name), Some(arguments))).collect();
    assert_eq!(calls, wanted.collect::<Vec<_>>(), "{}", path.display());
    for (field, got) in [("text", &answer.text), ("thinking", &answer.thinking)] {
        assert_eq!(expected[field], got.as_str(), "{field} of {}", path.display());
    }
    assert_eq!(expected["finish_reason"].as_str(), answer.finish_reason_raw.as_deref());
    let usage = answer.usage_raw.as_ref().map_or(Value::Null, forgeline::types::Json::to_value);
    assert_eq!(expected["usage"], usage, "{}", path.display());
    let reasoning = expected.pointer("/usage/tokens/reasoning_tokens").and_then(Value::as_u64);
    if reasoning.is_some() {
        assert_eq!(answer.usage.as_ref().unwrap().reasoning_tokens, reasoning);
    }
}
