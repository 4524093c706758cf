#![expect(clippy::print_stdout, clippy::wildcard_enum_match_arm, reason = "an example")]
#![expect(missing_docs, reason = "documentation that shows this file cannot begin with its own")]
// The server streams `{"say":"Hi"}` or `{"error":"no paper"}`, and at its end `{"end":"stop","used":[12,3]}`.
use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{
        ProviderError, SseAnswer, SseBody, SseFormat,
        http::{BodyWriter, EnvNames, HttpConfig, HttpProvider, WireFormat},
    },
    testing::conformance::{
        Answer, AnswerEnd, AnswerPart, Candidate, Setup, Subject, check, sse_frame,
    },
    types::{Capabilities, FinishReason, UsageInfo},
};
use serde_json::{Value, json};

/// The provider: retries, timeouts, error statuses and secrets are the library's.
pub type Own = HttpProvider<OwnFormat>;

/// The server's format.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnFormat;

impl WireFormat for OwnFormat {
    type Decoder = SseBody<Self>;

    const PROVIDER: &'static str = "own";
    const ENV: EnvNames = EnvNames::new("OWN_API_KEY", "OWN_BASE_URL", "OWN_MODEL");
    const PATH: &'static str = "/answer";

    fn defaults() -> HttpConfig {
        // What is not declared is refused before anything is sent.
        HttpConfig::new("http://127.0.0.1:7000", Capabilities::default().streaming(true))
    }

    fn body(&self, body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let request = body.request();
        let message =
            |it: &forgeline::types::Message| json!({ "role": it.role, "text": it.text() });
        // The messages come last, so that a conversation that grew begins with the bytes of before.
        let body = json!({
            "model": body.config().model.as_str(),
            "system": request.system.as_deref(),
            "max_tokens": request.max_tokens,
            "messages": request.messages.iter().map(|it| message(it)).collect::<Vec<_>>(),
        });
        Ok(vec![Bytes::from(body.to_string())])
    }

    fn decoder(&self, config: &HttpConfig) -> SseBody<Self> {
        SseBody::new(config.limits)
    }
}

impl SseFormat for OwnFormat {
    const NAME: &'static str = "own";

    fn event(&mut self, _: &str, data: &str, answer: &mut SseAnswer<'_>) -> serde_json::Result<()> {
        let value: Value = serde_json::from_str(data)?;
        if let Some(text) = value["say"].as_str() {
            answer.text(text);
        } else if let Some(reason) = value["end"].as_str() {
            if let [input, output] = value["used"].as_array().map_or(&[][..], Vec::as_slice) {
                let mut usage = UsageInfo::default();
                (usage.input_tokens, usage.output_tokens) = (input.as_u64(), output.as_u64());
                answer.usage(usage, &value["used"]);
            }
            answer.finish(reason);
        } else if value.get("error").is_some() {
            answer.fail(data);
        } else {
            answer.unknown("", data);
        }
        Ok(())
    }
}

/// The provider under test: how it is set up, and what its server would write.
struct OwnServer;

impl Subject for OwnServer {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<OwnFormat>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut events = Vec::new();
        for part in &answer.parts {
            // The format has text alone; of everything else the suite is told that there is none.
            let AnswerPart::Text(pieces) = part else { return None };
            events.extend(pieces.iter().map(|text| json!({ "say": text })));
        }
        match &answer.end {
            AnswerEnd::Finish(reason @ (FinishReason::Stop | FinishReason::Length)) => {
                let used = match answer.usage {
                    None => Value::Null,
                    Some(usage) if usage.is_plain() => json!([usage.input, usage.output]),
                    Some(_) => return None,
                };
                events.push(json!({ "end": reason.as_str(), "used": used }));
            }
            AnswerEnd::Error { message, .. } => events.push(json!({ "error": message })),
            AnswerEnd::Cut => {}
            _ => return None,
        }
        Some(events.iter().map(|event| sse_frame(None, event)).collect())
    }

    fn unknown(&self) -> Option<Bytes> {
        Some(sse_frame(None, &json!({ "weather": "rain" })))
    }
}

fn main() {
    let report = check(&OwnServer);
    println!("{report}");
    assert!(report.is_conforming());
}
