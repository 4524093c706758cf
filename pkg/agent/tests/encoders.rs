//! The encoders of all vendors.

use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;

use forgeline_llm::{
    Provider, Request, RetryPolicy,
    anthropic::Messages,
    cohere::ChatV2,
    gemini::GenerateContent,
    http::{HttpProvider, WireFormat},
    ollama::OllamaChat,
    openai::ChatCompletions,
    responses::Responses,
    transport::{HttpRequest, Transport, TransportError, TransportFuture},
};
use forgeline_types::Transcript;

/// The words of a transport to which a request came.
const SENT: &str = "it would be sent";

/// A transport that sends nothing.
struct Unsent;

impl Transport for Unsent {
    fn send(&self, _: HttpRequest) -> TransportFuture {
        Box::pin(std::future::ready(Err(TransportError::refused(SENT))))
    }
}

fn vendor<W: WireFormat>() -> Arc<dyn Provider> {
    let builder = HttpProvider::<W>::builder().base_url("http://h").model("m").api_key("k");
    Arc::new(builder.retry(RetryPolicy::NONE).transport(Arc::new(Unsent)).build().unwrap())
}

/// Checks that each vendor's encoder takes the conversation.
pub(super) fn assert_taken(conversation: &Transcript) {
    static VENDORS: OnceLock<[Arc<dyn Provider>; 6]> = OnceLock::new();
    let vendors = VENDORS.get_or_init(|| {
        [
            vendor::<ChatCompletions>(),
            vendor::<Responses>(),
            vendor::<Messages>(),
            vendor::<GenerateContent>(),
            vendor::<OllamaChat>(),
            vendor::<ChatV2>(),
        ]
    });
    for vendor in vendors {
        let sent = vendor.stream_completion(Request::new(conversation.clone())).now_or_never();
        let error = sent.expect("there is nothing to wait for").err().expect("nothing is sent");
        assert_eq!(error.to_string(), SENT, "{}: {conversation:#?}", vendor.info().provider);
    }
}
