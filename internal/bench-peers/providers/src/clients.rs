//! The clients, each used as its documentation shows, and each told only where the server is.

use async_openai::{
    config::OpenAIConfig,
    types::chat::{ChatCompletionRequestUserMessage, CreateChatCompletionRequest},
};
use forgeline::{
    agent::core::{StreamOptions, process_into},
    llm::{Provider as _, Request, channel::channel, openai::OpenAi},
    types::{AgentEvent, MessageContentEvent},
};
use futures_util::StreamExt as _;
use genai::{
    ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatMessage, ChatRequest, ChatStreamEvent},
    resolver::{AuthData, Endpoint},
};
use rig::{
    completion::CompletionRequest,
    prelude::{AgentBuilder, MultiTurnStreamItem},
    streaming::{Item, StreamEvent},
};
use tokio_util::sync::CancellationToken;

use crate::{Result, drain::Drain};

const MODEL: &str = "gpt-5.2";
const PROMPT: &str = "Go on.";
const KEY: &str = "none";

/// Who reads the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// The floor: bytes that are thrown away.
    Reqwest,
    /// The chunks of the provider.
    Forgeline,
    /// The events of the whole pipeline, from a bounded channel.
    ForgelineEvents,
    /// Its typed stream.
    AsyncOpenAi,
    /// Its stream of events.
    Genai,
    /// The events of the completion model.
    Rig,
    /// The items of an agent without tools.
    RigAgent,
}

impl Client {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 7] = [
        Self::Reqwest,
        Self::Forgeline,
        Self::ForgelineEvents,
        Self::AsyncOpenAi,
        Self::Genai,
        Self::Rig,
        Self::RigAgent,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reqwest => "reqwest",
            Self::Forgeline => "forgeline",
            Self::ForgelineEvents => "forgeline-events",
            Self::AsyncOpenAi => "async-openai",
            Self::Genai => "genai",
            Self::Rig => "rig",
            Self::RigAgent => "rig-agent",
        }
    }

    /// The crate whose version counts.
    pub(crate) fn crate_name(self) -> &'static str {
        match self {
            Self::Forgeline | Self::ForgelineEvents => "forgeline",
            Self::Rig | Self::RigAgent => "rig",
            Self::Reqwest | Self::AsyncOpenAi | Self::Genai => self.name(),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Reads the answer at `base_url` to its end.
    pub(crate) async fn read(self, base_url: &str, drain: &mut Drain) -> Result<()> {
        match self {
            Self::Reqwest => reqwest(base_url, drain).await,
            Self::Forgeline => forgeline_chunks(base_url, drain).await,
            Self::ForgelineEvents => forgeline_events(base_url, drain).await,
            Self::AsyncOpenAi => async_openai(base_url, drain).await,
            Self::Genai => genai(base_url, drain).await,
            Self::Rig => rig_model(base_url, drain).await,
            Self::RigAgent => rig_agent(base_url, drain).await,
        }
    }
}

async fn reqwest(base_url: &str, drain: &mut Drain) -> Result<()> {
    let url = format!("{base_url}/chat/completions");
    let response = ::reqwest::Client::new().post(url).body("{}").send().await?;
    let mut body = response.error_for_status()?.bytes_stream();
    while let Some(bytes) = body.next().await {
        drain.bytes(&bytes?);
    }
    Ok(())
}

fn our_provider(base_url: &str) -> Result<OpenAi> {
    Ok(OpenAi::builder().base_url(base_url).model(MODEL).api_key(KEY).build()?)
}

async fn forgeline_chunks(base_url: &str, drain: &mut Drain) -> Result<()> {
    let provider = our_provider(base_url)?;
    let mut chunks = provider.stream_completion(Request::prompt(PROMPT)).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if chunk.is_message() {
            drain.text(&chunk.content);
        }
    }
    Ok(())
}

async fn forgeline_events(base_url: &str, drain: &mut Drain) -> Result<()> {
    let provider = our_provider(base_url)?;
    let chunks = provider.stream_completion(Request::prompt(PROMPT)).await?;
    let options = StreamOptions::default().keep_content(false);
    let (sender, mut events) = channel(64);
    let cancel = CancellationToken::new();
    let producing = async {
        let completion = process_into(chunks, &options, &sender, &cancel).await;
        drop(sender);
        completion
    };
    let consuming = async {
        while let Some(event) = events.recv().await {
            if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = &event {
                drain.text(content);
            }
        }
    };
    let (completion, ()) = tokio::join!(producing, consuming);
    completion.error.map_or(Ok(()), |error| Err(error.into()))
}

async fn async_openai(base_url: &str, drain: &mut Drain) -> Result<()> {
    let config = OpenAIConfig::new().with_api_base(base_url).with_api_key(KEY);
    let client = ::async_openai::Client::with_config(config);
    let request = CreateChatCompletionRequest {
        model: MODEL.to_owned(),
        messages: vec![ChatCompletionRequestUserMessage::from(PROMPT).into()],
        ..CreateChatCompletionRequest::default()
    };
    let mut stream = client.chat().create_stream(request).await?;
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            drain.text(choice.delta.content.as_deref().unwrap_or_default());
        }
    }
    Ok(())
}

async fn genai(base_url: &str, drain: &mut Drain) -> Result<()> {
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{base_url}/")),
        auth: AuthData::from_single(KEY),
        model: ModelIden::new(AdapterKind::OpenAI, MODEL),
    };
    let request = ChatRequest::new(vec![ChatMessage::user(PROMPT)]);
    let client = ::genai::Client::builder().build()?;
    let mut stream = client.exec_chat_stream(target, request, None).await?.stream;
    while let Some(event) = stream.next().await {
        if let ChatStreamEvent::Chunk(chunk) = event? {
            drain.text(&chunk.content);
        }
    }
    Ok(())
}

fn rig_chat(base_url: &str) -> rig::core::Model<rig::providers::openai::wire::Chat> {
    let config = rig::providers::openai::OpenAIConfig::new(KEY).with_base_url(base_url);
    config.client().chat(MODEL)
}

async fn rig_model(base_url: &str, drain: &mut Drain) -> Result<()> {
    let mut stream = rig_chat(base_url).stream(CompletionRequest::new(PROMPT))?;
    while let Some(item) = stream.next().await {
        if let Item::Event(StreamEvent::Text { text, .. }) = item? {
            drain.text(&text);
        }
    }
    Ok(())
}

async fn rig_agent(base_url: &str, drain: &mut Drain) -> Result<()> {
    let agent = AgentBuilder::new(rig_chat(base_url)).build();
    let mut stream = agent.prompt(PROMPT).stream();
    while let Some(item) = stream.next().await {
        if let MultiTurnStreamItem::StreamAssistantItem(Item::Event(StreamEvent::Text {
            text,
            ..
        })) = item?
        {
            drain.text(&text);
        }
    }
    Ok(())
}
