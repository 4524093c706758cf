//! Members and events that nobody knows, at every place of every protocol.

use forgeline::llm::{Protocol, StreamChunk};

/// The answer, and the names and values of the other members.
fn decode(protocol: Protocol, pieces: [&[u8]; 2]) -> (String, Vec<String>) {
    let (mut text, mut reported) = (String::new(), Vec::new());
    let mut emit = |chunk: StreamChunk| {
        text.push_str(&chunk.content);
        for call in &chunk.tool_calls {
            text.extend(call.name.as_deref().into_iter().chain([&*call.arguments]));
        }
        for event in chunk.details.into_iter().flat_map(|details| details.events) {
            let event = serde_json::to_value(&event).unwrap();
            let name = event["name"].as_str().unwrap_or_default();
            if let Some(name) = name.strip_prefix("event:") {
                reported.push(format!("{name}={}", event["raw"]));
            }
        }
    };
    let mut decoder = protocol.decoder();
    for piece in pieces {
        decoder.push(piece, &mut emit).unwrap();
    }
    decoder.finish(&mut emit).unwrap();
    (text, reported)
}

// Found: V14
#[test]
fn a_member_that_nobody_knows_is_told_wherever_it_stands() {
    const CHAT: Protocol = Protocol::OpenAiChat;
    const RESPONSES: Protocol = Protocol::OpenAiResponses;
    const ANTHROPIC: Protocol = Protocol::Anthropic;
    // `@` is the place of the member.
    #[rustfmt::skip]
    let cases = [
        (CHAT, "chunk", r#"{"id":"x","created":7,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]@}"#),
        (CHAT, "choice", r#"{"choices":[{"index":0,"logprobs":null,"delta":{"content":"a"},"finish_reason":"stop"@}]}"#),
        (CHAT, "delta", r#"{"choices":[{"index":0,"delta":{"content":"a"@},"finish_reason":"stop"}]}"#),
        (CHAT, "tool_call", r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}@}]},"finish_reason":"stop"}]}"#),
        (CHAT, "tool_call.function", r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"@}}]},"finish_reason":"stop"}]}"#),
        (CHAT, "choice", r#"{"object":"chat.completion","choices":[{"message":{"content":"a"},"finish_reason":"stop"@}]}"#),
        (RESPONSES, "event", r#"{"type":"response.output_text.delta","output_index":0,"delta":"a","sequence_number":1@}"#),
        (RESPONSES, "message", r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]@}}"#),
        (RESPONSES, "part", r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a","annotations":[]@}]}}"#),
        (ANTHROPIC, "event", r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}@}"#),
        (ANTHROPIC, "delta", r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"@}}"#),
        (ANTHROPIC, "text", r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"@}}"#),
        (ANTHROPIC, "thinking", r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a"@}}"#),
        (ANTHROPIC, "message", r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1}@}}"#),
        (Protocol::Gemini, "response", r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]@}"#),
        (Protocol::Gemini, "candidate", r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"@}]}"#),
        (Protocol::Gemini, "content", r#"{"candidates":[{"content":{"parts":[{"text":"a"}]@},"finishReason":"STOP"}]}"#),
        (Protocol::Gemini, "part", r#"{"candidates":[{"content":{"parts":[{"text":"a"@}]},"finishReason":"STOP"}]}"#),
        (Protocol::Ollama, "answer", r#"{"created_at":"x","message":{"content":"a"},"done":true@}"#),
        (Protocol::Ollama, "message", r#"{"message":{"content":"a"@},"done":true}"#),
        (Protocol::Cohere, "event", r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}}@}"#),
        (Protocol::Cohere, "delta", r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}@}}"#),
        (Protocol::Cohere, "message", r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}@}}}"#),
        (Protocol::Cohere, "content", r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"type":"text","text":"a"@}}}}"#),
    ];
    for (protocol, place, event) in cases {
        let body = |member: &str| framed(protocol, &event.replace('@', member));
        let plain = body(r#","mood":null,"none":[],"nothing":{}"#);
        let (text, reported) = decode(protocol, [&plain, b""]);
        assert!(
            text.starts_with('a') && reported.is_empty(),
            "{protocol} {place}: {text} {reported:?}"
        );
        let marked = body(r#","mood":{"is":15}"#);
        for at in 0..marked.len() {
            let (start, rest) = marked.split_at(at);
            let got = decode(protocol, [start, rest]);
            let reported = vec![format!(r#"{place}.mood={{"is":15}}"#)];
            assert_eq!(got, (text.clone(), reported), "{protocol} {place} cut at {at}");
        }
    }
}

/// The event and the end of the answer.
fn framed(protocol: Protocol, event: &str) -> Vec<u8> {
    let end = match protocol {
        Protocol::OpenAiResponses => {
            r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#
        }
        Protocol::Anthropic => r#"{"type":"message_stop"}"#,
        Protocol::Cohere => r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
        Protocol::Ollama => return [event, "\n"].concat().into_bytes(),
        Protocol::OpenAiChat | Protocol::Gemini | Protocol::OllamaGenerate | _ => "[DONE]",
    };
    ["data: ", event, "\n\ndata: ", end, "\n\n"].concat().into_bytes()
}

// Found: V14
#[test]
fn events_parts_and_calls_of_unknown_kinds_are_told_and_run_nothing() {
    #[rustfmt::skip]
    let cases = [
        (Protocol::OpenAiChat, r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"s","type":"mcp","mcp":{"n":1}}]},"finish_reason":"stop"}]}"#, "tool_call.mcp={\"n\":1}"),
        (Protocol::OpenAiResponses, r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_map","n":1}]}}"#, "part.output_map={\"type\":\"output_map\",\"n\":1}"),
        (Protocol::OpenAiResponses, r#"{"type":"response.weather","n":1}"#, "response.weather={\"type\":\"response.weather\",\"n\":1}"),
        (Protocol::Anthropic, r#"{"type":"weather","n":1}"#, "weather={\"type\":\"weather\",\"n\":1}"),
        (Protocol::Cohere, r#"{"type":"debug","prompt":"p"}"#, "debug={\"type\":\"debug\",\"prompt\":\"p\"}"),
    ];
    for (protocol, event, reported) in cases {
        let body = framed(protocol, event);
        let got = decode(protocol, [&body, b""]);
        assert_eq!(got, (String::new(), vec![reported.to_owned()]), "{protocol}");
    }
}
