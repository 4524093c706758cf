//! Requests for an answer that matches a schema.

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Structured, StructuredStream};
use crate::{AnswerSchema, Provider, ProviderError, ProviderFuture, Request};
use forgeline_types::{Completion, FinishReason, Message, Text, UsageInfo};

/// Structured output, for every [`Provider`].
///
/// The provider enforces the schema if it can; otherwise the model is made to call a tool, or is
/// instructed in the prompt. A schema that the provider does not honor is
/// [`ProviderError::SchemaUnsupported`](crate::ProviderError::SchemaUnsupported) before anything
/// is sent.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{Request, StructuredExt as _}, testing::{ScriptedProvider, ScriptedTurn}};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Place {
///     city: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), forgeline::llm::ProviderError> {
/// # let provider = ScriptedProvider::new([ScriptedTurn::new()
/// #     .call("structured_response", r#"{"city":"Lisbon"}"#)]);
/// let request = Request::prompt("Where was the Treaty of Lisbon signed?");
/// let mut answer = provider.stream_structured::<Place>(request).await?;
/// while answer.advance().await? {
///     let city = answer.partial().and_then(|place| place.get("city")?.as_str());
///     println!("so far: {}", city.unwrap_or_default());
/// }
/// assert_eq!(answer.finish().await?.value.city, "Lisbon");
/// # Ok(())
/// # }
/// ```
pub trait StructuredExt: Provider {
    /// Waits for the whole answer as a `T`. A model whose answer does not match the schema reads why, and is asked again,
    /// [once](AnswerSchema::answer_repairs) by default; the completion then has the usage of all answers. If that request fails, the error is
    /// the one about the first answer.
    ///
    /// # Errors
    ///
    /// The errors of the request;
    /// [`ProviderError::SchemaUnsupported`](crate::ProviderError::SchemaUnsupported) for a schema
    /// that the provider does not honor; [`ProviderError::InvalidAnswer`](crate::ProviderError::InvalidAnswer), with the
    /// answer and its usage, for an answer that is not a `T`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; the answer so far is lost.
    fn complete_structured<T>(
        &self,
        request: Request,
    ) -> BoxFuture<'_, Result<Structured<T>, ProviderError>>
    where
        T: JsonSchema + DeserializeOwned + Send + 'static,
    {
        Box::pin(complete_as(self, request, AnswerSchema::of::<T>()))
    }

    /// Waits for the whole answer as JSON that matches `schema`. With a provider that cannot enforce the schema,
    /// only valid JSON is guaranteed.
    ///
    /// # Errors
    ///
    /// As for [`complete_structured`](Self::complete_structured).
    fn complete_json(
        &self,
        request: Request,
        schema: AnswerSchema,
    ) -> BoxFuture<'_, Result<Structured<Value>, ProviderError>> {
        Box::pin(complete_as(self, request, schema))
    }

    /// Streams the answer, which is read as a `T` at its end. The model is asked once only.
    ///
    /// # Errors
    ///
    /// As for [`complete_structured`](Self::complete_structured).
    fn stream_structured<T>(&self, request: Request) -> ProviderFuture<StructuredStream<T>>
    where
        T: JsonSchema + DeserializeOwned + Send + 'static,
    {
        self.stream_as(request, AnswerSchema::of::<T>())
    }

    /// Streams the answer that matches `schema`, which is read as a `T` at its end.
    ///
    /// # Errors
    ///
    /// As for [`complete_structured`](Self::complete_structured).
    fn stream_as<T>(
        &self,
        request: Request,
        schema: AnswerSchema,
    ) -> ProviderFuture<StructuredStream<T>>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let may_have_input = schema.may_have_input();
        let answer = self.stream_answer(request, schema);
        Box::pin(async move {
            let (chunks, method) = answer.await?;
            Ok(StructuredStream::new(chunks, method, may_have_input))
        })
    }
}

impl<P: Provider + ?Sized> StructuredExt for P {}

/// An answer that does not match its schema, and the problem.
type Invalid = (Text, Box<Completion>);

fn invalid((problem, completion): Invalid) -> ProviderError {
    ProviderError::InvalidAnswer { problem, completion }
}

/// Waits for the whole answer; the model is asked again for one that does not match the schema.
pub(super) async fn complete_as<T>(
    provider: &(impl Provider + ?Sized),
    mut request: Request,
    schema: AnswerSchema,
) -> Result<Structured<T>, ProviderError>
where
    T: DeserializeOwned + Send + 'static,
{
    let (mut repairs, mut last) = (schema.answer_repairs, None);
    loop {
        let answer = match provider.stream_as::<T>(request.clone(), schema.clone()).await {
            Ok(stream) => stream.finish().await,
            Err(error) => Err(error),
        };
        let before = last.as_ref().and_then(|(_, completion): &Invalid| completion.usage);
        let (problem, mut completion) = match answer {
            Ok(mut answer) => {
                add_usage(&mut answer.completion, before);
                return Ok(answer);
            }
            Err(ProviderError::InvalidAnswer { problem, completion }) => (problem, completion),
            // The answer that was asked about has been paid for, and may be of use.
            Err(error) => return Err(last.map_or(error, invalid)),
        };
        add_usage(&mut completion, before);
        if repairs == 0 || !may_be_mended(&completion) {
            return Err(invalid((problem, completion)));
        }
        repairs -= 1;
        request = request.ask_again(&problem, &completion);
        last = Some((problem, completion));
    }
}

impl Request {
    /// Adds an answer that does not match its schema, and a message that says what is wrong with it and asks for another one. The parts are those of
    /// [`ProviderError::InvalidAnswer`]. [`complete_structured`](StructuredExt::complete_structured) does so by itself; a streamed answer is
    /// asked for again with this.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{llm::Request, types::Completion};
    ///
    /// let mut answer = Completion::default();
    /// answer.text = "about 12".to_owned();
    /// let again = Request::prompt("How many?").ask_again("it is not JSON", &answer);
    /// let said: Vec<_> = again.messages.iter().map(|message| message.text()).collect();
    /// assert_eq!((said.len(), said[1].as_ref()), (3, "about 12"));
    /// assert!(said[2].contains("it is not JSON"));
    /// ```
    #[must_use]
    pub fn ask_again(mut self, problem: &str, answer: &Completion) -> Self {
        // The call of a forced tool goes back as text: as a call, it would need a result.
        let written = match answer.tool_calls.first() {
            Some(call) if answer.text.trim().is_empty() => call.arguments_raw.clone(),
            _ => answer.text.clone(),
        };
        if !written.trim().is_empty() {
            self.messages.push(Message::assistant(written));
        }
        self.messages.push(Message::user(ask_again(problem)));
        self
    }
}

/// Returns the request after an answer that does not match its schema.
#[must_use]
pub fn ask_again(problem: &str) -> String {
    format!(
        "Your last answer is not valid: {problem}. Answer again, with the requested JSON value alone."
    )
}

/// Returns `true` for an answer that ended by itself: one that was cut or refused would be so again.
fn may_be_mended(completion: &Completion) -> bool {
    completion.refusal.is_empty()
        && matches!(
            completion.finish_reason,
            None | Some(FinishReason::Stop | FinishReason::ToolCalls)
        )
}

fn add_usage(completion: &mut Completion, before: Option<UsageInfo>) {
    if let Some(before) = before {
        completion.usage.get_or_insert_default().add(&before);
    }
}
