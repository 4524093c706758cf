//! The wire formats as a server writes them, and the providers that read them.

use std::sync::Arc;

use forgeline::llm::{
    Provider, RetryPolicy, Timeouts,
    anthropic::Messages,
    cohere::ChatV2,
    gemini::GenerateContent,
    http::{HttpBuilder, HttpProvider, WireFormat},
    ollama::OllamaChat,
    openai::ChatCompletions,
    responses::Responses,
    sse::SseLimits,
    transport::{HttpTransport, Transport},
};

/// The key that every provider of these tests has.
pub(crate) const KEY: &str = "sk-planted-0123456789";

/// One provider and how its server writes.
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    build: Build,
    /// What comes before the first delta.
    pub(crate) begin: &'static str,
    /// A delta; `TEXT` is replaced by its text.
    delta: &'static str,
    /// What ends the answer.
    pub(crate) end: &'static str,
    /// Something that says nothing.
    pub(crate) comment: &'static str,
    /// A whole call: `AT` is replaced by its number, `ID` and `NAME` by themselves, `TEXT` by its
    /// arguments in a string, `VALUE` for them as an object.
    call: &'static str,
    /// An error that is reported in the stream; `VALUE` is replaced by its value.
    error: &'static str,
    /// The answer of a server that does not stream; `TEXT` is replaced by its text.
    whole: &'static str,
}

/// Builds a provider at an address; gives what `Debug` shows of it too.
type Build = fn(&str, &dyn Fn(Setup) -> Setup) -> (Arc<dyn Provider>, String);

/// What a test sets up.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) transport: Option<Arc<dyn Transport>>,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
    pub(crate) limits: SseLimits,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Wire {
    /// A delta of this text.
    pub(crate) fn delta(&self, text: &str) -> String {
        self.delta.replace("TEXT", text)
    }

    /// A call with these parts; `arguments` is an object.
    pub(crate) fn call(&self, at: &str, id: &str, name: &str, arguments: &str) -> String {
        let escaped = arguments.replace('\\', "\\\\").replace('"', "\\\"");
        let call = self.call.replace("AT", at).replace("ID", id).replace("NAME", name);
        call.replace("TEXT", &escaped).replace("VALUE", arguments)
    }

    /// An error of this value in the stream.
    pub(crate) fn error(&self, value: &str) -> String {
        self.error.replace("VALUE", value)
    }

    /// The answer of this text, not streamed.
    pub(crate) fn whole(&self, text: &str) -> String {
        self.whole.replace("TEXT", text)
    }

    /// Whether an event is a line.
    pub(crate) fn is_lines(&self) -> bool {
        self.name == "ollama"
    }

    /// The provider at `url`.
    pub(crate) fn provider(&self, url: &str, setup: &dyn Fn(Setup) -> Setup) -> Arc<dyn Provider> {
        (self.build)(url, setup).0
    }

    /// The same, with what `Debug` shows of it and of its setup.
    pub(crate) fn shown(
        &self,
        url: &str,
        setup: &dyn Fn(Setup) -> Setup,
    ) -> (Arc<dyn Provider>, String) {
        (self.build)(url, setup)
    }
}

fn build<W: WireFormat>(url: &str, setup: &dyn Fn(Setup) -> Setup) -> (Arc<dyn Provider>, String) {
    let setup = setup(Setup {
        transport: None,
        headers: Vec::new(),
        timeouts: Timeouts::NONE,
        limits: SseLimits::default(),
        retry: RetryPolicy::default().jitter(false),
    });
    let builder: HttpBuilder<W> = HttpProvider::<W>::builder();
    let builder = builder.base_url(url).model("m").api_key(KEY);
    let builder = builder.timeouts(setup.timeouts).retry(setup.retry).limits(setup.limits);
    let builder = match setup.transport {
        Some(transport) => builder.transport(transport),
        None => builder.transport(transport()),
    };
    let builder = setup
        .headers
        .into_iter()
        .fold(builder, |builder, (name, value)| builder.header(name, value));
    let shown = format!("{builder:?}");
    let provider = builder.build().unwrap();
    (Arc::new(provider.clone()), format!("{shown} {provider:?}"))
}

/// The library's transport, without the proxies of the machine.
pub(crate) fn transport() -> HttpTransport {
    HttpTransport::without_proxies(Timeouts::default().connect).unwrap()
}

/// Every provider.
pub(crate) const WIRES: &[Wire] = &[
    Wire {
        name: "openai",
        build: build::<ChatCompletions>,
        begin: "",
        delta: "data: {\"choices\":[{\"delta\":{\"content\":\"TEXT\"}}]}\n\n",
        end: "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        comment: ": wait\n\n",
        call: "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":AT,\"id\":\"ID\",\"function\":{\"name\":\"NAME\",\"arguments\":\"TEXT\"}}]}}]}\n\n",
        error: "data: {\"error\":VALUE}\n\n",
        whole: "{\"choices\":[{\"message\":{\"content\":\"TEXT\"},\"finish_reason\":\"stop\"}]}",
    },
    Wire {
        name: "gemini",
        build: build::<GenerateContent>,
        begin: "",
        delta: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"TEXT\"}]}}]}\r\n\r\n",
        end: "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n",
        comment: ": wait\n\n",
        call: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"ID\",\"name\":\"NAME\",\"args\":VALUE}}]}}]}\r\n\r\n",
        error: "data: {\"error\":VALUE}\r\n\r\n",
        whole: "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"TEXT\"}]},\"finishReason\":\"STOP\"}]}",
    },
    Wire {
        name: "cohere",
        build: build::<ChatV2>,
        begin: "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"1\"}\n\n",
        delta: "event: content-delta\ndata: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"TEXT\"}}}}\n\n",
        end: "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n",
        comment: ": wait\n\n",
        call: "event: tool-call-start\ndata: {\"type\":\"tool-call-start\",\"index\":AT,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"ID\",\"type\":\"function\",\"function\":{\"name\":\"NAME\",\"arguments\":\"TEXT\"}}}}}\n\nevent: tool-call-end\ndata: {\"type\":\"tool-call-end\",\"index\":AT}\n\n",
        error: "event: error\ndata: {\"type\":\"error\",\"error\":VALUE}\n\n",
        whole: "{\"id\":\"1\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"TEXT\"}]},\"finish_reason\":\"COMPLETE\"}",
    },
    Wire {
        name: "ollama",
        build: build::<OllamaChat>,
        begin: "",
        delta: "{\"message\":{\"role\":\"assistant\",\"content\":\"TEXT\"},\"done\":false}\n",
        end: "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
        comment: "\n",
        call: "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"ID\",\"function\":{\"name\":\"NAME\",\"arguments\":VALUE}}]},\"done\":false}\n",
        error: "{\"error\":VALUE}\n",
        whole: "{\"message\":{\"role\":\"assistant\",\"content\":\"TEXT\"},\"done\":true,\"done_reason\":\"stop\"}",
    },
    Wire {
        name: "openai-responses",
        build: build::<Responses>,
        begin: "",
        delta: "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"TEXT\"}\n\n",
        end: "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
        comment: ": wait\n\n",
        call: "data: {\"type\":\"response.output_item.done\",\"output_index\":AT,\"item\":{\"type\":\"function_call\",\"id\":\"fc_AT\",\"call_id\":\"ID\",\"name\":\"NAME\",\"arguments\":\"TEXT\"}}\n\n",
        error: "data: {\"type\":\"error\",\"error\":VALUE}\n\n",
        whole: "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"TEXT\"}]}]}",
    },
    Wire {
        name: "anthropic",
        build: build::<Messages>,
        begin: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"role\":\"assistant\"}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        delta: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"TEXT\"}}\n\n",
        end: "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        comment: "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        call: "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":AT,\"content_block\":{\"type\":\"tool_use\",\"id\":\"ID\",\"name\":\"NAME\",\"input\":{}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":AT,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"TEXT\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":AT}\n\n",
        error: "event: error\ndata: {\"type\":\"error\",\"error\":VALUE}\n\n",
        whole: "{\"type\":\"message\",\"id\":\"1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"TEXT\"}],\"stop_reason\":\"end_turn\"}",
    },
];
