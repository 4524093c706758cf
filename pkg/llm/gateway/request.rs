//! Requests as clients of a gateway send them.

use serde_json::{Map, Value};

use super::{
    RequestProblem,
    members::{flag, fraction, metadata},
};
use crate::Request;
use forgeline_types::Text;

/// A request as a client sent it, in any of the protocols that this [module](super) reads.
///
/// # Examples
///
/// ```
/// use forgeline::llm::anthropic::read_request;
///
/// let body = br#"{"model":"small","max_tokens":9,"messages":[{"role":"user","name":"Ann","content":"Hi"}]}"#;
/// let received = read_request(body)?;
/// assert_eq!((received.model.as_str(), received.stream), ("small", false));
/// assert_eq!(received.left_out, ["messages[0].name"]);
/// # Ok::<(), forgeline::llm::gateway::RequestProblem>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[non_exhaustive]
pub struct ClientRequest {
    /// The name of the model that the client asks for.
    pub model: Text,
    /// The request, for any provider. Members that have no field of their own, such as `logit_bias`, are in
    /// [`extra`](Request::extra).
    pub request: Request,
    /// `true` if the client wants the answer as a stream.
    pub stream: bool,
    /// `true` if a stream is to end with the token counts: always, except in Chat Completions, whose clients ask for them.
    pub include_usage: bool,
    /// The places of members that a [`Request`] has no room for, such as `messages[0].name`.
    pub left_out: Vec<String>,
}

impl ClientRequest {
    /// Returns the request with the members that all protocols have; those that are left go into [`extra`](Request::extra).
    pub(crate) fn with_members(
        model: String,
        mut members: Map<String, Value>,
        mut request: Request,
        left_out: Vec<String>,
    ) -> Result<Self, RequestProblem> {
        request.temperature = fraction(&mut members, "temperature")?;
        request.top_p = fraction(&mut members, "top_p")?;
        request.metadata = metadata(&mut members)?;
        let stream = flag(&mut members, "stream")?.unwrap_or_default();
        members.retain(|_, value| !value.is_null());
        request.extra = members;
        Ok(Self { model: model.into(), request, stream, include_usage: true, left_out })
    }
}
