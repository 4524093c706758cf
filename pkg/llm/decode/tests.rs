use crate::llm::{Progress, Protocol, ProviderError, StreamChunk};

/// An event or a line of a protocol that reports an error with this value.
fn reported(protocol: Protocol, error: &str) -> String {
    let json = match protocol {
        Protocol::Anthropic => format!(r#"{{"type":"error","error":{error}}}"#),
        _ => format!(r#"{{"error":{error}}}"#),
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
    match protocol {
        Protocol::Ollama | Protocol::OllamaGenerate => format!("{json}\n"),
        _ => format!("data: {json}\n\n"),
    }
}

fn read(protocol: Protocol, body: &str) -> (Vec<StreamChunk>, Option<ProviderError>) {
    let (mut chunks, mut decoder) = (Vec::new(), protocol.decoder());
    let pushed = decoder.push(body.as_bytes(), &mut |chunk| chunks.push(chunk));
    let ended = pushed.and_then(|()| decoder.finish(&mut |chunk| chunks.push(chunk)));
    (chunks, ended.err())
}

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
