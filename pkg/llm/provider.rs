//! The boundary between the library and models.

use std::{pin::Pin, sync::Arc};

use futures_core::{Stream, future::BoxFuture};

use super::{
    Health, ProviderError, Request, SchemaRules, StreamChunk, collect, parser::ThinkingDialect,
};
use forgeline_types::{Completion, ModelInfo};

/// A stream of one response. Dropping it closes its connection.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{ChunkStream, ProviderError};
/// use futures_util::StreamExt as _;
///
/// async fn print(mut chunks: ChunkStream) -> Result<(), ProviderError> {
///     while let Some(chunk) = chunks.next().await {
///         print!("{}", chunk?.content);
///     }
///     Ok(())
/// }
/// ```
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<StreamChunk, ProviderError>> + Send>>;

/// A future returned by a [`Provider`], which borrows nothing from it.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{Provider, ProviderFuture, Request}, types::Completion};
///
/// fn ask(provider: &dyn Provider, question: &str) -> ProviderFuture<Completion> {
///     provider.complete(Request::prompt(question))
/// }
/// ```
pub type ProviderFuture<T> = BoxFuture<'static, Result<T, ProviderError>>;

/// A source of model answers.
///
/// A provider types content: it separates reasoning from the message, but does not run tools.
/// The trait is object-safe; the futures are `Send + 'static`, so a provider keeps its state in
/// `Arc`s.
///
/// # Cancel safety
///
/// Dropping a future or a stream ends the request and closes its connection.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{ChunkStream, Provider, ProviderError, ProviderFuture, Request, StreamChunk};
/// use forgeline::types::{FinishReason, ModelInfo};
///
/// /// Repeats the last message.
/// struct Echo(ModelInfo);
///
/// impl Provider for Echo {
///     fn info(&self) -> &ModelInfo {
///         &self.0
///     }
///
///     fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
///         let text = request.messages.last().map(|message| message.text()).unwrap_or_default();
///         let chunks = [StreamChunk::message(text), StreamChunk::end(FinishReason::Stop)];
///         let stream: ChunkStream = Box::pin(futures_util::stream::iter(chunks.map(Ok)));
///         Box::pin(async move { Ok(stream) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ProviderError> {
/// let echo = Echo(ModelInfo::new("echo", ""));
/// assert_eq!(echo.complete(Request::prompt("Hi")).await?.text, "Hi");
/// # Ok(())
/// # }
/// ```
pub trait Provider: Send + Sync {
    /// Returns the model that answers, with its capabilities.
    fn info(&self) -> &ModelInfo;

    /// Sends `request`; the chunks arrive as the model writes them.
    ///
    /// # Errors
    ///
    /// A failure before the first chunk fails the future; a later one is the last item of the stream.
    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream>;

    /// Sends `request` and waits for the whole answer, without looking for tool calls in its text.
    ///
    /// # Errors
    ///
    /// As for [`stream_completion`](Self::stream_completion); an answer that broke off is
    /// [`ProviderError::Aborted`], with the part that had arrived.
    fn complete(&self, request: Request) -> ProviderFuture<Completion> {
        let stream = self.stream_completion(request);
        Box::pin(async move { collect(stream.await?).await })
    }

    /// Returns the same provider with another model; `None` if it has only one.
    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        let _ = model;
        None
    }

    /// Sends `request` for an answer that matches `schema`; also returns the method that enforces the schema. The
    /// answer is read by the methods of
    /// [`StructuredExt`](super::StructuredExt).
    ///
    /// # Errors
    ///
    /// As for [`stream_completion`](Self::stream_completion), and
    /// [`ProviderError::SchemaUnsupported`] for a schema that the provider does not honor.
    #[cfg(feature = "runtime")]
    fn stream_answer(
        &self,
        request: Request,
        schema: super::AnswerSchema,
    ) -> ProviderFuture<(ChunkStream, super::StructuredMethod)> {
        match schema.apply(request, self.info(), self.schema_rules()) {
            Ok((request, method)) => {
                let chunks = self.stream_completion(request);
                Box::pin(async move { Ok((chunks.await?, method)) })
            }
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }

    /// Returns the features of JSON Schema that the provider honors when it binds an answer to a schema. Default:
    /// everything.
    fn schema_rules(&self) -> SchemaRules {
        SchemaRules::ANY
    }

    /// Returns the dialect in which the provider recognizes reasoning in the text, if that is the only
    /// reasoning without a signature: an agent may then write it back in that dialect, see
    /// `KeepThinking`. Default: `None`, which leaves reasoning to the provider.
    fn written_thinking(&self) -> Option<ThinkingDialect> {
        None
    }

    /// Asks the server, within a bounded time, how many tokens the model may read, prompt and answer together; `None` if it does
    /// not say. An agent asks once a request was refused because of its length, and the refusal has no number.
    ///
    /// # Errors
    ///
    /// None of the providers of this library fails; an agent takes an error for `None`.
    fn context_window(&self) -> ProviderFuture<Option<u64>> {
        let known = self.info().context_tokens;
        Box::pin(async move { Ok(known) })
    }

    /// Checks, within a bounded time, that the server is reachable and accepts the API key, without sending
    /// a prompt.
    ///
    /// # Errors
    ///
    /// The errors of a request; [`ProviderError::Unsupported`] if there is nothing to check.
    fn health(&self) -> ProviderFuture<Health> {
        let error = ProviderError::unsupported(self.info().provider.clone(), "a health check");
        Box::pin(async move { Err(error) })
    }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn info(&self) -> &ModelInfo {
        (**self).info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        (**self).stream_completion(request)
    }

    fn complete(&self, request: Request) -> ProviderFuture<Completion> {
        (**self).complete(request)
    }

    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        (**self).with_model(model)
    }

    #[cfg(feature = "runtime")]
    fn stream_answer(
        &self,
        request: Request,
        schema: super::AnswerSchema,
    ) -> ProviderFuture<(ChunkStream, super::StructuredMethod)> {
        (**self).stream_answer(request, schema)
    }

    fn schema_rules(&self) -> SchemaRules {
        (**self).schema_rules()
    }

    fn written_thinking(&self) -> Option<ThinkingDialect> {
        (**self).written_thinking()
    }

    fn context_window(&self) -> ProviderFuture<Option<u64>> {
        (**self).context_window()
    }

    fn health(&self) -> ProviderFuture<Health> {
        (**self).health()
    }
}
