#![expect(clippy::wildcard_enum_match_arm, reason = "what the format lacks is the rest")]
#![expect(clippy::print_stdout, reason = "an example: it prints what it finds")]
#![expect(
    missing_docs,
    reason = "the documentation shows this file, which cannot begin with its own"
)]
// The server writes a line of JSON for each step, `{"say":"Hi"}` or `{"error":"no paper"}`, and at its
// end `{"end":"stop","used":[12,3]}`.
use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{
        BodyDecoder, ChunkDetails, Progress, ProviderError, StreamChunk,
        http::{BodyWriter, EnvNames, HttpConfig, HttpProvider, WireFormat},
        ndjson::NdjsonDecoder,
    },
    testing::conformance::{
        Answer, AnswerEnd, AnswerPart, Candidate, Setup, Subject, check, ndjson_frame,
    },
    types::{Capabilities, ErrorCode, FinishReason, Json, Text, UsageInfo},
};
use serde_json::{Value, json};

/// The provider: retries, timeouts, error statuses and secrets are the library's.
pub type Own = HttpProvider<Lines>;

/// The server's format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines;

impl WireFormat for Lines {
    type Decoder = LinesDecoder;

    const PROVIDER: &'static str = "own";
    const ENV: EnvNames = EnvNames::new("OWN_API_KEY", "OWN_BASE_URL", "OWN_MODEL");
    const PATH: &'static str = "/answer";
    const ACCEPT: &'static str = "application/x-ndjson";

    fn defaults() -> HttpConfig {
        // What is not declared is refused before anything is sent.
        HttpConfig::new("http://127.0.0.1:7000", Capabilities::default().streaming(true))
    }

    fn body(&self, body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let request = body.request();
        let line = |role: &str, text: &str| json!({ "role": role, "text": text });
        let messages = request.messages.iter();
        let messages: Vec<_> =
            messages.map(|message| line(&format!("{:?}", message.role), &message.text())).collect();
        // The messages come last, so that a conversation that grew begins with the bytes of before.
        let body = json!({
            "model": body.config().model.as_str(),
            "system": request.system.as_deref(),
            "max_tokens": request.max_tokens,
            "messages": messages,
        });
        Ok(vec![Bytes::from(body.to_string())])
    }

    fn decoder(&self, _: &HttpConfig) -> LinesDecoder {
        LinesDecoder { lines: NdjsonDecoder::default(), state: State::Open, received: 0 }
    }
}

/// Reads an answer.
#[derive(Debug)]
pub struct LinesDecoder {
    lines: NdjsonDecoder,
    state: State,
    received: u64,
}

#[derive(Debug)]
enum State {
    Open,
    Failed(ProviderError),
    Done,
}

impl State {
    fn line(&mut self, line: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        let value: Value = serde_json::from_str(line).map_err(|error| {
            let reason = Text::from(format!("invalid line: {error}"));
            ProviderError::decode(0, reason)
        })?;
        if let Some(text) = value["say"].as_str() {
            emit(StreamChunk::message(text));
        }
        if let Some(word) = value["end"].as_str() {
            emit(end(word, &value["used"]));
            *self = Self::Done;
        }
        if let error @ (Value::String(_) | Value::Object(_)) = &value["error"] {
            let message = error["message"].as_str().or(error.as_str()).unwrap_or("no reason");
            *self = Self::Failed(ProviderError::in_stream(
                ErrorCode::InStream,
                message,
                Json::from(error),
            ));
        }
        Ok(())
    }
}

/// The last chunk.
fn end(word: &str, used: &Value) -> StreamChunk {
    let mut chunk = StreamChunk::end(FinishReason::from(Text::from(word)));
    let mut details = ChunkDetails::default();
    details.finish_reason_raw = Some(Text::from(word));
    if used.is_array() {
        let mut usage = UsageInfo::default();
        (usage.input_tokens, usage.output_tokens) = (used[0].as_u64(), used[1].as_u64());
        chunk.usage = Some(usage);
        details.usage_raw = Some(Json::from(used));
    }
    chunk.details = Some(Box::new(details));
    chunk
}

impl BodyDecoder for LinesDecoder {
    fn push(
        &mut self,
        mut bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.received += bytes.len() as u64;
        while let Some(line) = self.lines.next_line(&mut bytes)? {
            self.state.line(line, emit)?;
        }
        Ok(())
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        let early = ProviderError::ended_early(self.received);
        if let Some(line) = self.lines.finish()? {
            let is_cut = line.starts_with('{') && serde_json::from_str::<Value>(line).is_err();
            if !is_cut {
                self.state.line(line, emit)?;
            }
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Open => Err(early),
            State::Failed(error) => Err(error),
            State::Done => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        match self.state {
            State::Open => Progress::Open,
            State::Failed(_) => Progress::Failed,
            State::Done => Progress::Done,
        }
    }
}

/// The provider under test: how it is set up, and what its server would write.
struct OwnServer;

impl Subject for OwnServer {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<Lines>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut frames = Vec::new();
        for part in &answer.parts {
            // The format has text alone; of everything else the suite is told that there is none.
            let AnswerPart::Text(deltas) = part else { return None };
            frames.extend(deltas.iter().map(|text| ndjson_frame(&json!({ "say": text }))));
        }
        match &answer.end {
            AnswerEnd::Finish(reason @ (FinishReason::Stop | FinishReason::Length)) => {
                let used = match answer.usage {
                    None => Value::Null,
                    Some(usage) if usage.is_plain() => json!([usage.input, usage.output]),
                    Some(_) => return None,
                };
                frames.push(ndjson_frame(&json!({ "end": reason.as_str(), "used": used })));
            }
            AnswerEnd::Error { message, .. } => {
                frames.push(ndjson_frame(&json!({ "error": message })));
            }
            AnswerEnd::Cut => {}
            _ => return None,
        }
        Some(frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        Some(ndjson_frame(&json!({ "weather": "rain" })))
    }

    fn comment(&self) -> Option<Bytes> {
        Some(Bytes::from_static(b"\n"))
    }
}

fn main() {
    let report = check(&OwnServer);
    println!("{report}");
    assert!(report.is_conforming());
}
