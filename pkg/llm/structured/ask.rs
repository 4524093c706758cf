//! Requests for an answer that matches a schema.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Structured, StructuredStream};
use crate::{AnswerSchema, Provider, ProviderFuture, Request};

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
    /// Waits for the whole answer as a `T`.
    ///
    /// # Errors
    ///
    /// The errors of the request;
    /// [`ProviderError::SchemaUnsupported`](crate::ProviderError::SchemaUnsupported) for a schema
    /// that the provider does not honor; [`ProviderError::InvalidAnswer`](crate::ProviderError::InvalidAnswer), with the
    /// answer and its usage, for an answer that is not a `T`.
    fn complete_structured<T>(&self, request: Request) -> ProviderFuture<Structured<T>>
    where
        T: JsonSchema + DeserializeOwned + Send + 'static,
    {
        let stream = self.stream_as::<T>(request, AnswerSchema::of::<T>());
        Box::pin(async move { stream.await?.finish().await })
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
    ) -> ProviderFuture<Structured<Value>> {
        let stream = self.stream_as::<Value>(request, schema);
        Box::pin(async move { stream.await?.finish().await })
    }

    /// Streams the answer, which is read as a `T` at its end.
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
