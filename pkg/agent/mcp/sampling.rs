//! Requests of servers to a model.
#![expect(deprecated, reason = "sampling is deprecated, and still asked for")]

use rmcp::{
    ErrorData,
    model::{
        CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage,
        SamplingMessageContentBlock,
    },
};
use serde_json::json;

use super::options::Sampling;
use crate::{
    agent::tools::ToolContext,
    llm::Request,
    types::{Completion, FinishReason, Message, MessageRole, Part, Preview, Text},
};

/// Longest request to a model, in bytes of its texts and pictures.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// The answer of a model, or the reason for which there is none.
pub(super) type Sampled = Result<CreateMessageResult, ErrorData>;

/// Asks the model, if a person allows it.
pub(super) async fn sample(
    sampling: &Sampling,
    server: &Text,
    params: CreateMessageRequestParams,
    context: &ToolContext,
) -> Sampled {
    let request = request(&params, sampling.max_tokens)?;
    let texts: Vec<_> = request.messages.messages().iter().map(|message| message.text()).collect();
    let preview = format!(
        "The MCP server {server} asks the model {}, for at most {} tokens, and reads the answer.\n{}\n{}",
        sampling.provider.info().model,
        request.max_tokens.unwrap_or_default(),
        request.system.as_deref().unwrap_or_default(),
        texts.join("\n"),
    );
    let arguments = json!({ "max_tokens": request.max_tokens, "messages": texts }).into();
    let name = Text::from(format!("mcp.{server}.sampling"));
    if !context.approve(name, arguments, Preview::text(preview)).await {
        return Err(refused());
    }
    let completion = tokio::select! {
        biased;
        () = context.cancelled().cancelled() => return Err(refused()),
        completion = sampling.provider.complete(request) => completion,
    };
    // The error of a provider may have what a server has no business to know.
    let completion = completion.map_err(|error| {
        tracing::warn!(%error, "the model that a server asked has failed");
        ErrorData::internal_error("the model has failed", None)
    })?;
    Ok(result(completion, &sampling.provider.info().model))
}

/// Returns the error of a request that was not allowed.
pub(super) fn refused() -> ErrorData {
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
            Ok(Part::Text { text: text.text })
        } else if let SamplingMessageContentBlock::Image(image) = block {
            Ok(Part::Image { media_type: image.mime_type, data: image.data })
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
