//! Native calls whose arguments are a text of JSON, and calls that a server sends again.

use crate::{StreamEnd, StreamMachine, StreamOptions};
use forgeline_llm::{
    BodyDecoder, anthropic::AnthropicDecoder, cohere::CohereDecoder, gemini::GeminiDecoder,
    ollama::OllamaDecoder, openai::OpenAiDecoder, responses::ResponsesDecoder,
};
use forgeline_types::{CallOutcome, ToolCall};

/// Creates a decoder.
type Make = fn() -> Box<dyn BodyDecoder>;

/// Returns the calls of a body that is read in pieces of `size` bytes.
fn calls(mut decoder: Box<dyn BodyDecoder>, body: &str, size: usize) -> Vec<ToolCall> {
    let mut machine = StreamMachine::new(&StreamOptions::default());
    let mut emit = |chunk| {
        let _flow = machine.chunk(chunk, &mut |_| {});
    };
    for piece in body.as_bytes().chunks(size) {
        decoder.push(piece, &mut emit).unwrap();
    }
    decoder.finish(&mut emit).unwrap();
    machine.finish(StreamEnd::Done, &mut |_| {}).tool_calls
}

/// Returns events of an SSE body; each is named by its `type`, as some vendors want it.
fn sse(data: &[&str]) -> String {
    let event = |data: &&str| {
        let value: serde_json::Value = serde_json::from_str(data).unwrap();
        let name = value["type"].as_str().map(|name| format!("event: {name}\n"));
        format!("{}data: {data}\n\n", name.unwrap_or_default())
    };
    data.iter().map(event).collect()
}

fn anthropic(input: &str, deltas: &[&str]) -> String {
    let start = format!(
        r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"t","name":"f","input":{input}}}}}"#
    );
    let deltas = deltas.iter().map(|delta| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{delta}}}}}"#
        )
    });
    let events: Vec<_> = [
        r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#.to_owned(),
        start,
    ]
    .into_iter()
    .chain(deltas)
    .chain([
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ])
    .collect();
    sse(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn gemini(parts: &str) -> String {
    sse(&[&format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{parts}]}},"finishReason":"STOP","index":0}}]}}"#
    )])
}

// Rows: N-28
#[test]
fn arguments_that_are_a_text_of_json_are_that_json() {
    let responses = sse(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"i","output_index":0,"delta":"\"{\\\"a\\\":1}\""}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"\"{\\\"a\\\":1}\""}}"#,
        r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"\"{\\\"a\\\":1}\""}]}}"#,
    ]);
    let chat = sse(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"\"{\\\"a\\\":1}\""}}]},"finish_reason":null}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    let cohere = sse(&[
        r#"{"type":"message-start","id":"m","delta":{"message":{"role":"assistant"}}}"#,
        r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c","type":"function","function":{"name":"f","arguments":""}}}}}"#,
        r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"\"{\\\"a\\\":1}\""}}}}}"#,
        r#"{"type":"tool-call-end","index":0}"#,
        r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#,
    ]);
    let ollama = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},\"done\":false}\n{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n";
    let rows: [(&str, Make, String, bool); 9] = [
        (
            "Anthropic, at the start",
            || Box::new(AnthropicDecoder::default()),
            anthropic(r#""{\"a\":1}""#, &[]),
            true,
        ),
        (
            "Anthropic, in deltas",
            || Box::new(AnthropicDecoder::default()),
            anthropic("{}", &[r#""\"{\\\"a\\\"""#, r#"":1}\"""#]),
            true,
        ),
        (
            "Anthropic, no JSON",
            || Box::new(AnthropicDecoder::default()),
            anthropic(r#""a: 1""#, &[]),
            false,
        ),
        ("Chat Completions", || Box::new(OpenAiDecoder::default()), chat, true),
        ("Responses", || Box::new(ResponsesDecoder::default()), responses, true),
        (
            "Gemini",
            || Box::new(GeminiDecoder::default()),
            gemini(r#"{"functionCall":{"name":"f","args":"{\"a\":1}"}}"#),
            true,
        ),
        (
            "Gemini, no JSON",
            || Box::new(GeminiDecoder::default()),
            gemini(r#"{"functionCall":{"name":"f","args":"a: 1"}}"#),
            false,
        ),
        ("Ollama", || Box::new(OllamaDecoder::default()), ollama.to_owned(), true),
        ("Cohere", || Box::new(CohereDecoder::default()), cohere, true),
    ];
    for (name, decoder, body, is_json) in rows {
        for size in [body.len(), 1, 7] {
            let calls = calls(decoder(), &body, size);
            let [call] = calls.as_slice() else { panic!("{name}: {calls:?}") };
            let arguments = call.arguments.as_ref().map(ToString::to_string);
            if is_json {
                assert_eq!(call.outcome, CallOutcome::Complete, "{name}: {call:?}");
                assert_eq!(arguments.as_deref(), Some(r#"{"a":1}"#), "{name}");
            } else {
                assert!(matches!(call.outcome, CallOutcome::Malformed { .. }), "{name}: {call:?}");
            }
        }
    }
}

// Rows: N-28
#[test]
fn a_call_that_a_server_sends_again_is_one_call() {
    let call = |id: &str, value: u32| {
        let id = if id.is_empty() { String::new() } else { format!(r#""id":"{id}","#) };
        format!(r#"{{"functionCall":{{{id}"name":"f","args":{{"a":{value}}}}}}}"#)
    };
    let signed = call("x", 1).replacen('{', r#"{"thoughtSignature":"c2ln","#, 1);
    #[rustfmt::skip]
    let rows = [
        ("the same",          [signed.clone(), call("x", 1)],  1),
        ("other arguments",   [call("x", 1), call("x", 2)],    2),
        ("another id",        [call("x", 1), call("y", 1)],    2),
        ("no id",             [call("", 1), call("", 1)],      2),
    ];
    for (name, parts, want) in rows {
        let in_one = gemini(&parts.join(","));
        let apart = parts.iter().map(|part| gemini(part).replace(r#""finishReason":"STOP","#, ""));
        let apart: String = apart.chain([gemini("")]).collect();
        for body in [in_one, apart] {
            let found = calls(Box::new(GeminiDecoder::default()), &body, body.len());
            assert_eq!(found.len(), want, "{name}: {found:?}");
        }
    }
}
