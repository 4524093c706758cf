//! Requests of servers to a model.
#![expect(deprecated, reason = "sampling is deprecated, and still asked for")]

use futures_util::StreamExt as _;
use rmcp::{
    ErrorData,
    model::{
        CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage,
        SamplingMessageContentBlock,
    },
};
use serde_json::json;

use super::mcp_options::SamplingModel;
use forgeline_agent::{
    Caller,
    private::{BudgetDraw, SpentBelow, current_draw},
    run::{Budget, Spending},
    tools::ToolContext,
};
use forgeline_llm::{
    ChunkStream, Cost, ModelCard, ProviderError, ProviderFuture, Request, StreamChunk,
    TokenEstimator, collect,
    private::media::{self, CheckedPart},
};
use forgeline_types::{
    Completion, FinishReason, Message, MessageRole, Part, Preview, Text, UsageInfo,
};

/// Maximum size of a request to a model, in bytes of its texts and images.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// The answer of a model, or the reason for which there is none.
pub(crate) type SamplingResult = Result<CreateMessageResult, ErrorData>;

/// Asks the model, if a person allows it.
pub(crate) async fn sample(
    sampling: &SamplingModel,
    server: &Text,
    params: CreateMessageRequestParams,
    context: &ToolContext,
) -> SamplingResult {
    let mut request = request(&params, sampling.max_tokens)?;
    request.owner = context.run().caller().map(Caller::request_owner);
    let info = sampling.provider.info();
    let shown: Vec<_> = request.messages.messages().iter().map(|message| shown(message)).collect();
    let preview = format!(
        "The MCP server {server} asks the model {}, for at most {} tokens, and reads the answer.\n{}{}",
        info.model,
        request.max_tokens.unwrap_or_default(),
        request.system.as_ref().map(|system| format!("system: {system}\n")).unwrap_or_default(),
        shown.join("\n"),
    );
    let arguments = json!({
        "max_tokens": request.max_tokens,
        "system": request.system,
        "messages": shown,
    });
    let arguments = arguments.into();
    let name = Text::from(format!("mcp.{server}.sampling"));
    if !context.approve(name, arguments, Preview::text(preview)).await {
        return Err(refused());
    }
    let draw = current_draw();
    if let Some(draw) = &draw {
        // A part of the rest of the run's budget, as for a sub-agent.
        let left = draw.take(Budget::default());
        // The input is counted first.
        let input = TokenEstimator::new().request(&request);
        let tokens = left.tokens.map(|tokens| tokens.saturating_sub(input));
        if tokens == Some(0) || left.cost == Some(Cost::ZERO) {
            draw.end(SpentBelow::NOTHING);
            let problem = "the budget of the run is spent, or too small for the request";
            return Err(ErrorData::internal_error(problem, None));
        }
        let tokens = tokens.and_then(|tokens| u32::try_from(tokens).ok());
        request.max_tokens = request.max_tokens.min(tokens.or(request.max_tokens));
    }
    let mut used = SamplingUsage::new(draw, &request, &info.model);
    let completion = tokio::select! {
        biased;
        () = context.cancelled().cancelled() => return Err(refused()),
        completion = used.count(sampling.provider.stream_completion(request)) => completion,
    };
    // The provider's error may contain details that the server must not learn.
    let completion = completion.map_err(|error| {
        tracing::warn!(%error, "the model that a server asked has failed");
        ErrorData::internal_error("the model has failed", None)
    })?;
    Ok(result(completion, &info.model))
}

/// The part of the run's budget that a request uses, reported when this is dropped: a model that is
/// stopped halfway has used what it read and wrote until then.
struct SamplingUsage {
    draw: Option<BudgetDraw>,
    card: Option<&'static ModelCard>,
    /// An estimate, until the provider reports more; `None` when nothing was answered.
    usage: Option<UsageInfo>,
    is_told: bool,
}

impl SamplingUsage {
    fn new(draw: Option<BudgetDraw>, request: &Request, model: &str) -> Self {
        let usage = UsageInfo::default()
            .input_tokens(TokenEstimator::new().request(request))
            .output_tokens(0);
        Self { draw, card: ModelCard::for_model(model), usage: Some(usage), is_told: false }
    }

    /// Joins the chunks of an answer, and counts them as they arrive.
    async fn count(
        &mut self,
        answer: ProviderFuture<ChunkStream>,
    ) -> Result<Completion, ProviderError> {
        let chunks = match answer.await {
            Ok(chunks) => chunks,
            Err(error) => {
                self.usage = None;
                return Err(error);
            }
        };
        let chunks = chunks.inspect(|chunk| {
            if let Ok(chunk) = chunk {
                self.add(chunk);
            }
        });
        collect(chunks).await
    }

    fn add(&mut self, chunk: &StreamChunk) {
        let Some(usage) = &mut self.usage else { return };
        if let Some(told) = &chunk.usage {
            if !self.is_told {
                (self.is_told, *usage) = (true, UsageInfo::default());
            }
            usage.merge(told);
        } else if !self.is_told {
            let written = TokenEstimator::new().text(&chunk.content);
            usage.output_tokens = usage.output_tokens.map(|tokens| tokens.saturating_add(written));
        }
    }
}

impl Drop for SamplingUsage {
    fn drop(&mut self) {
        let Some(draw) = &self.draw else { return };
        draw.end(self.usage.as_ref().map_or(SpentBelow::NOTHING, |usage| {
            let mut spent = Spending::default();
            spent.add(Some(usage), self.card.and_then(|card| card.cost(usage)));
            // The run counts this as usage, but not as a turn.
            SpentBelow::new(0, &spent)
        }));
    }
}

/// Returns a message as a person reads it: its stated role, its text, and its other parts.
fn shown(message: &Message) -> String {
    let role = if message.role == MessageRole::Assistant { "assistant" } else { "user" };
    let part = |part: &Part| {
        if let Part::Image { media_type, data, .. } = part {
            // Four base64 characters are three bytes.
            let bytes = data.trim_end_matches('=').len() * 3 / 4;
            return format!("[picture: {media_type}, {bytes} bytes]");
        }
        part.as_text().unwrap_or("[another part]").to_owned()
    };
    let parts: Vec<_> = message.parts.iter().map(part).collect();
    format!("{role}: {}", parts.join("\n"))
}

/// Returns the error for a request that was not allowed.
pub(crate) fn refused() -> ErrorData {
    ErrorData::invalid_request("the user has not allowed it", None)
}

fn request(params: &CreateMessageRequestParams, max_tokens: u32) -> Result<Request, ErrorData> {
    let invalid = |problem: &'static str| ErrorData::invalid_params(problem, None);
    if params.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        return Err(invalid("tools are not offered"));
    }
    let messages: Result<Vec<_>, _> = params.messages.iter().map(message).collect();
    let messages = messages.map_err(invalid)?;
    let bytes = |part: &Part| {
        if let Part::Image { data, .. } = part {
            data.len()
        } else {
            part.as_text().map_or(0, str::len)
        }
    };
    let parts = messages.iter().flat_map(|message: &Message| &message.parts);
    let system = params.system_prompt.as_deref().unwrap_or_default();
    if parts.map(bytes).sum::<usize>() + system.len() > MAX_REQUEST_BYTES {
        return Err(invalid("the request is too long"));
    }
    let mut request = Request::new(messages.into_iter().collect());
    request.system = params.system_prompt.as_deref().map(Into::into);
    request.max_tokens = Some(params.max_tokens.clamp(1, max_tokens));
    request.temperature = params.temperature;
    request.stop = params.stop_sequences.clone().unwrap_or_default();
    Ok(request)
}

fn message(message: &SamplingMessage) -> Result<Message, &'static str> {
    let role = match message.role {
        Role::User => MessageRole::User,
        Role::Assistant => MessageRole::Assistant,
    };
    let blocks = message.content.clone().into_vec().into_iter();
    let parts = blocks.map(|block| {
        if let SamplingMessageContentBlock::Text(text) = block {
            Ok(Part::text(text.text))
        } else if let SamplingMessageContentBlock::Image(image) = block {
            // A URL would make the model's vendor fetch it, and a person would not see the content.
            let part = Part::image(image.mime_type, image.data);
            let checked = media::inline(part).map(CheckedPart::into_part);
            checked.map_err(|_| "a picture is not PNG, JPEG, GIF or WebP in base64")
        } else {
            Err("only texts and pictures can be sent")
        }
    });
    Ok(Message::new(role, parts.collect::<Result<_, _>>()?))
}

fn result(completion: Completion, model: &str) -> CreateMessageResult {
    let model = completion.model.as_deref().unwrap_or(model).to_owned();
    let reason = if completion.finish_reason == Some(FinishReason::Length) {
        CreateMessageResult::STOP_REASON_END_MAX_TOKEN
    } else {
        CreateMessageResult::STOP_REASON_END_TURN
    };
    let message = SamplingMessage::assistant_text(completion.text);
    CreateMessageResult::new(message, model).with_stop_reason(reason)
}
