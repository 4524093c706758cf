#![expect(clippy::wildcard_enum_match_arm, reason = "an example names only what it shows")]
#![expect(clippy::print_stdout, reason = "an example: it prints what it makes")]
//! A vendor whose API is almost Chat Completions: this one calls the limit of tokens `max_output_tokens`, has no `top_k`, switches reasoning by a
//! member of its own, and takes images but no documents. Everything else is the library's.

use bytes::Bytes;
use forgeline::{
    llm::{
        Thinking,
        http::{
            BodyWriter, EnvNames, HttpConfig, HttpProvider, JsonItems, SamplingNames, WireFormat,
            chat,
        },
        openai::OpenAiDecoder,
    },
    prelude::*,
    types::{Capabilities, Text},
};
use serde_json::json;

type Acme = HttpProvider<AcmeChat>;
#[derive(Debug, Clone, Copy, Default)]
struct AcmeChat;

impl WireFormat for AcmeChat {
    type Decoder = OpenAiDecoder;

    const PROVIDER: &'static str = "acme";
    const ENV: EnvNames = EnvNames::new("ACME_API_KEY", "ACME_BASE_URL", "ACME_MODEL");
    const PATH: &'static str = "/chat/completions";
    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        let able = Capabilities::ALL.documents(false).prompt_caching(false);
        HttpConfig::new("https://api.acme.example/v1", able)
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let request = body.request();
        body.begin();
        let max_tokens = "max_output_tokens";
        body.sampling(&SamplingNames { max_tokens, top_k: "", ..SamplingNames::CHAT })?;
        body.optional("reasoning", request.thinking.map(|it| it != Thinking::Off));
        let format = request.response_format.as_ref().map(chat::response_format);
        body.optional("response_format", format);
        body.tools("tools", 0, |tools| tools.iter().map(chat::tool).collect());
        body.chat_messages(message)
    }

    fn dropped_fields(&self, request: &Request, _: &HttpConfig) -> Vec<Text> {
        (!request.metadata.is_empty()).then(|| Text::from("metadata")).into_iter().collect()
    }

    fn decoder(&self, config: &HttpConfig) -> OpenAiDecoder {
        OpenAiDecoder::new(config.limits)
    }
}

/// Writes a message: each result of a tool as a message of its own, then the rest.
fn message(message: &Message, items: &mut JsonItems<'_>) -> Result<(), ProviderError> {
    message.tool_results().for_each(|result| items.push(&chat::tool_result(result)));
    let calls: Vec<_> = message.tool_calls().map(chat::tool_call).collect();
    let content = chat::content(message, |part| match part {
        Part::Text { text, .. } => Ok(Some(json!({ "type": "text", "text": text }))),
        Part::Image { media_type, data, .. } => Ok(Some(chat::image(media_type, data))),
        _ => Ok(None),
    })?;
    let role = chat::role(message.role);
    match (calls.is_empty(), message.role) {
        (true, MessageRole::Tool) => {}
        (true, _) => items.push(&json!({ "role": role, "content": content })),
        (false, _) => items.push(&json!({ "role": role, "content": content, "tool_calls": calls })),
    }
    Ok(())
}

fn main() -> Result<(), ProviderError> {
    println!("{:?}", Acme::new("your key", "acme-1")?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use forgeline::{
        llm::{
            Provider as _, RetryPolicy, ToolSpec,
            transport::{HttpRequest, HttpResponse, Transport, TransportError},
        },
        types::{ToolCall, Transcript},
    };
    use futures_util::{future::BoxFuture, stream};
    use serde_json::Value;

    use super::*;

    /// Answers every request alike and keeps what it was sent.
    struct Server(&'static str, Arc<Mutex<Vec<HttpRequest>>>);

    impl Transport for Server {
        fn send(
            &self,
            request: HttpRequest,
        ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
            self.1.lock().unwrap().push(request);
            let body = stream::iter([Ok(Bytes::from_static(self.0.as_bytes()))]);
            Box::pin(async move { Ok(HttpResponse::new(200, Box::pin(body))) })
        }
    }

    #[tokio::test]
    async fn requests_are_the_vendors_and_answers_are_read() {
        let sent = Arc::default();
        let answer = concat!(
            "data: {\"choices\":[{\"delta\":{\"content\":\"42\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        );
        let builder = Acme::builder().api_key("k").model("acme-1").retry(RetryPolicy::NONE);
        let acme = builder.transport(Server(answer, Arc::clone(&sent))).build().unwrap();
        let call = ToolCall::new("c", "now", json!({}));
        let history = Transcript::from(vec![
            Message::user("What is 6 × 7?"),
            Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)]),
        ]);
        let request = Request::new(history).system("Be brief.").max_tokens(9);
        let request =
            request.thinking(Thinking::On).tools(vec![ToolSpec::new("now", "", json!({}))]);
        assert_eq!(acme.complete(request.clone()).await.unwrap().text, "42");
        let http = sent.lock().unwrap().pop().unwrap();
        assert_eq!(http.url, "https://api.acme.example/v1/chat/completions");
        let body: Value = serde_json::from_slice(&http.body.concat()).unwrap();
        assert_eq!(body["max_output_tokens"], 9);
        assert_eq!(body["reasoning"], true);
        assert_eq!(body["messages"][0], json!({ "role": "system", "content": "Be brief." }));
        assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["name"], "now");
        let error = acme.complete(request.top_k(3)).await.unwrap_err();
        assert!(error.to_string().contains("`top_k`"), "{error}");
    }
}
