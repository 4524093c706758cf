//! Every recorded body of every protocol, decoded in every way that it may arrive.

use forgeline::{
    llm::{
        ContentType, Progress, Protocol, Provider, ProviderError, Request, StreamChunk, collect,
        parser::{ThinkingDialect, ToolDialect},
    },
    testing::replay::{ChunkSizes, ReplayProvider},
    types::FinishReason,
};
use forgeline_testkit::{
    fixtures,
    recorded::{self, Body, bodies_with_expectation, cut},
};
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};

/// What a body came to, in the words of the expectations.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    thinking: String,
    refusal: String,
    calls: Vec<Map<String, Value>>,
    finish_reason: Option<String>,
    mapped: Option<FinishReason>,
    usage: Value,
    complete: bool,
    model: String,
    id: String,
    ignored_choices: u32,
    error: Option<ProviderError>,
}

impl Answer {
    fn chunk(&mut self, chunk: StreamChunk) {
        match chunk.content_type {
            ContentType::Message => self.text.push_str(&chunk.content),
            ContentType::Thinking => self.thinking.push_str(&chunk.content),
            ContentType::Refusal => self.refusal.push_str(&chunk.content),
            other => panic!("{other:?}"),
        }
        for delta in chunk.tool_calls {
            let index = delta.index as usize;
            assert!(index <= self.calls.len(), "calls are numbered in order");
            if index == self.calls.len() {
                let blank = json!({ "id": "", "name": "", "arguments": "" });
                self.calls.push(blank.as_object().unwrap().clone());
            }
            let call = &mut self.calls[index];
            if let Some(id) = delta.id {
                call["id"] = json!(id);
            }
            if let Some(name) = delta.name {
                call["name"] = json!(name);
            }
            call["arguments"] =
                json!(call["arguments"].as_str().unwrap().to_owned() + &delta.arguments);
        }
        self.complete |= chunk.finished;
        self.mapped = chunk.finish_reason.or(self.mapped.take());
        if let Some(details) = chunk.details {
            let word = details.finish_reason_raw.map(|word| word.to_string());
            self.finish_reason = word.or(self.finish_reason.take());
            if let Some(usage) = details.usage_raw {
                self.usage = serde_json::from_str(usage.as_str()).unwrap();
            }
            self.model = details.model.map_or(std::mem::take(&mut self.model), Into::into);
            self.id = details.response_id.map_or(std::mem::take(&mut self.id), Into::into);
            self.ignored_choices = self.ignored_choices.max(details.ignored_choices);
        }
    }

    fn error_raw(&self) -> Value {
        let raw = self.error.as_ref().and_then(ProviderError::raw);
        raw.map_or(Value::Null, forgeline::types::Json::to_value)
    }

    /// Compares with an expectation; gives the fields that differ.
    fn differences(&self, expected: &Value) -> Vec<String> {
        let calls = expected["tool_calls"].as_array().unwrap().iter().map(|call| {
            json!({ "id": call["id"], "name": call["name"], "arguments": call["arguments"] })
        });
        let fields = [
            ("text", json!(self.text), expected["text"].clone()),
            ("thinking", json!(self.thinking), expected["thinking"].clone()),
            ("refusal", json!(self.refusal), expected["refusal"].clone()),
            ("tool_calls", json!(self.calls), calls.collect()),
            ("finish_reason", json!(self.finish_reason), expected["finish_reason"].clone()),
            ("usage", self.usage.clone(), expected["usage"].clone()),
            ("error", self.error_raw(), expected["error"].clone()),
            ("complete", json!(self.complete), expected["complete"].clone()),
            ("model", json!(self.model), expected["model"].clone()),
            ("id", json!(self.id), expected["id"].clone()),
        ];
        let differ = fields.into_iter().filter(|(_, got, want)| got != want);
        differ.map(|(name, got, want)| format!("{name}: got {got}, want {want}")).collect()
    }
}

/// Through the decoder alone.
fn decode<'a>(protocol: Protocol, pieces: impl IntoIterator<Item = &'a [u8]>) -> Answer {
    let mut decoder = protocol.decoder();
    let mut answer = Answer::default();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut |chunk| answer.chunk(chunk)) {
            answer.error = Some(error);
            return answer;
        }
    }
    let ended = decoder.finish(&mut |chunk| answer.chunk(chunk));
    answer.error = ended.err();
    let whole = matches!(decoder.progress(), Progress::Complete | Progress::Done);
    assert!(answer.error.is_some() || whole);
    answer
}

fn bodies(protocol: Protocol) -> Vec<Body> {
    bodies_with_expectation(protocol).unwrap_or_default()
}

fn every_body_gives_what_is_expected(protocol: Protocol) {
    let mut wrong = Vec::new();
    for recorded in bodies(protocol) {
        let body = recorded.bytes.as_slice();
        let mut ways =
            vec![("recorded pieces".to_owned(), recorded.chunks.clone().unwrap_or_default())];
        for size in [1, 7, 64, body.len()] {
            ways.push((format!("pieces of {size}"), vec![size; body.len() / size]));
        }
        for (way, sizes) in ways {
            let answer = decode(protocol, cut(body, &sizes));
            let mut differences = answer.differences(&recorded.expected);
            let ended_early = matches!(answer.error, Some(ProviderError::EndedEarly { received, .. })
                if received == body.len() as u64);
            if ended_early == (answer.complete || !recorded.expected["error"].is_null()) {
                differences.push(format!("the end: {:?}", answer.error));
            }
            if !differences.is_empty() {
                wrong.push(format!("{} in {way}: {}", recorded.name, differences.join("; ")));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn openai_chat() {
    every_body_gives_what_is_expected(Protocol::OpenAiChat);
}

#[test]
fn anthropic() {
    every_body_gives_what_is_expected(Protocol::Anthropic);
}

#[test]
fn openai_responses() {
    every_body_gives_what_is_expected(Protocol::OpenAiResponses);
}

#[test]
fn gemini() {
    every_body_gives_what_is_expected(Protocol::Gemini);
}

#[test]
fn ollama() {
    every_body_gives_what_is_expected(Protocol::Ollama);
    every_body_gives_what_is_expected(Protocol::OllamaGenerate);
}

#[test]
fn cohere() {
    every_body_gives_what_is_expected(Protocol::Cohere);
}

#[test]
fn the_protocol_is_guessed_from_the_body() {
    for &protocol in Protocol::ALL {
        for recorded in bodies(protocol) {
            let guessed = Protocol::guess(&recorded.bytes);
            assert_eq!(guessed, protocol, "{}", recorded.name);
        }
    }
}

#[tokio::test]
async fn replaying_gives_what_the_decoder_gives() {
    for &protocol in Protocol::ALL {
        for recorded in bodies(protocol) {
            for sizes in [ChunkSizes::Whole, ChunkSizes::Bytes(7)] {
                let provider = ReplayProvider::new([recorded.bytes.clone()])
                    .protocol(protocol)
                    .thinking(ThinkingDialect::NONE)
                    .tools_dialect(ToolDialect::NONE)
                    .chunks(sizes);
                let mut stream = provider.stream_completion(Request::default()).await.unwrap();
                let mut answer = Answer::default();
                while let Some(item) = stream.next().await {
                    assert!(answer.error.is_none(), "an error is the last item");
                    match item {
                        Ok(chunk) => answer.chunk(chunk),
                        Err(error) => answer.error = Some(error),
                    }
                }
                assert_eq!(answer.differences(&recorded.expected), [""; 0], "{}", recorded.name);
            }
        }
    }
}

/// What a part of a message says that goes back to the vendor.
fn part_of(part: &Value) -> Value {
    let mut part = part.clone();
    let proof = part.pointer("/signature/proof").cloned().unwrap_or_default();
    let fields = part.as_object_mut().unwrap();
    fields.remove("protocol");
    if fields["type"] == "tool_call" {
        fields.retain(|key, _| key == "type" || key == "name");
    }
    if fields["type"] == "tool_call" || fields["type"] == "thinking" {
        fields.insert("signature".into(), proof);
    }
    part
}

#[tokio::test]
async fn own_bodies_keep_what_goes_back_to_the_vendor() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for body in fixtures::bodies() {
        let expected = body.path.with_extension("parts.json");
        if !expected.is_file() {
            continue;
        }
        for sizes in [ChunkSizes::Whole, ChunkSizes::Bytes(1), ChunkSizes::Bytes(64)] {
            let provider =
                ReplayProvider::new([body.bytes.clone()]).protocol(body.protocol).chunks(sizes);
            let stream = provider.stream_completion(Request::default()).await.unwrap();
            let message = collect(stream).await.unwrap().into_message();
            let parts = serde_json::to_value(&message.parts).unwrap();
            let parts: Vec<_> = parts.as_array().unwrap().iter().map(part_of).collect();
            if json!(parts) != recorded::json(&expected) {
                wrong.push(format!("{}: {}", body.path.display(), json!(parts)));
            }
        }
        compared += 1;
    }
    forgeline_testkit::say(format!("the parts of {compared} bodies of our own"));
    assert!(wrong.is_empty() && compared >= 18, "{compared} {}", wrong.join("\n"));
}
