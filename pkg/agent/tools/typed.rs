//! Tools from async functions.

use std::{fmt, future::Future, marker::PhantomData, time::Duration};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    IntoToolResult, PreviewFuture, Tool, ToolContext, ToolEffects, ToolError, ToolFuture, kind,
};
use forgeline_json::describe_mismatch;
use forgeline_llm::private::schema_of;
use forgeline_types::{Json, Preview, Text, TextOrigin};

/// Returns a tool that calls an async function with typed arguments.
///
/// The schema is derived from the type of the arguments; its doc comments describe them to the model. Use `()` for a tool without arguments, and
/// `serde_json::Value` for any object. See [`IntoToolResult`] for what the function may return.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::{Tool as _, ToolContext, tool_fn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greet {
///     /// Who is greeted.
///     name: String,
/// }
///
/// async fn greet(_context: ToolContext, greet: Greet) -> String {
///     format!("Hello, {}!", greet.name)
/// }
///
/// let tool = tool_fn("greet", "Greets a person.", greet);
/// assert_eq!(tool.schema()["required"][0], "name");
/// ```
pub fn tool_fn<A, F, R, Kind>(
    name: impl Into<Text>,
    description: impl Into<String>,
    function: F,
) -> TypedTool<A, F, Kind>
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(ToolContext, A) -> R + Send + Sync,
    R: Future<Output: IntoToolResult<Kind>> + Send + 'static,
{
    TypedTool {
        name: name.into(),
        description: description.into(),
        order: ToolOrder::default(),
        is_idempotent: false,
        may_repeat: false,
        effects: ToolEffects::default(),
        origin: TextOrigin::default(),
        module: None,
        permission: None,
        timeout: None,
        max_result_chars: None,
        identity: None,
        preview: None,
        function,
        types: PhantomData,
    }
}

/// Returns a tool that calls an async function with a state, such as the handle of a database, and typed arguments.
///
/// Each call gets a clone of the state: use a handle whose clones share what they refer to, such as an [`Arc`](std::sync::Arc) or a pool of
/// connections. In all else, the same as [`tool_fn`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{collections::HashMap, sync::Arc};
///
/// use forgeline::agent::tools::{Tool as _, ToolContext, ToolError, tool_with};
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Stock {
///     /// The name of the article.
///     article: String,
/// }
///
/// let stock: Arc<HashMap<String, u32>> = Arc::new([("bolt".to_owned(), 40)].into());
/// let tool = tool_with("stock", "Tells how many are left.", stock, async |stock, _, it: Stock| {
///     let left = stock.get(&it.article);
///     left.copied().ok_or_else(|| ToolError::failed(format!("no article {:?}", it.article)))
/// });
/// let output = tool.execute(ToolContext::default(), json!({ "article": "bolt" }).into()).await?;
/// assert_eq!(output.content, "40");
/// # Ok(())
/// # }
/// ```
pub fn tool_with<S, A, F, R, Kind>(
    name: impl Into<Text>,
    description: impl Into<String>,
    state: S,
    function: F,
) -> TypedTool<A, impl Fn(ToolContext, A) -> R + Send + Sync, Kind>
where
    S: Clone + Send + Sync,
    A: DeserializeOwned + JsonSchema,
    F: Fn(S, ToolContext, A) -> R + Send + Sync,
    R: Future<Output: IntoToolResult<Kind>> + Send + 'static,
{
    tool_fn(name, description, move |context, arguments| {
        function(state.clone(), context, arguments)
    })
}

/// The argument of a tool's function that is its state, for the attribute `forgeline::tool`.
///
/// The function that returns the tool takes the value; each call gets a clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use forgeline::agent::tools::State;
///
/// async fn first(State(names): State<Arc<[String]>>) -> String {
///     names.first().cloned().unwrap_or_default()
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State<T>(pub T);

/// A tool made by [`tool_fn`] or [`tool_with`].
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::{Tool as _, tool_fn};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Report {
///     text: String,
/// }
///
/// let tool = tool_fn("report", "Ends the task.", async |_, it: Report| it.text).loop_breaking();
/// assert!(tool.is_loop_breaking());
/// ```
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct TypedTool<A, F, Kind = kind::Value> {
    name: Text,
    description: String,
    order: ToolOrder,
    is_idempotent: bool,
    may_repeat: bool,
    effects: ToolEffects,
    origin: TextOrigin,
    module: Option<Text>,
    permission: Option<Text>,
    timeout: Option<Duration>,
    max_result_chars: Option<usize>,
    identity: Option<CallIdentity<A>>,
    preview: Option<EffectPreviewer<A>>,
    function: F,
    types: PhantomData<fn(A) -> Kind>,
}

/// A function that returns the identity of a call, which two equal calls share.
type CallIdentity<A> = Box<dyn Fn(&A) -> String + Send + Sync>;

/// A function that previews the effects of a call.
type EffectPreviewer<A> = Box<dyn Fn(ToolContext, A) -> PreviewFuture + Send + Sync>;

/// The place of the tool's calls among the calls of a response.
#[derive(Debug, Clone, Copy, Default)]
enum ToolOrder {
    #[default]
    Any,
    Alone,
    LoopBreaking,
}

impl<A, F, Kind> TypedTool<A, F, Kind> {
    /// Makes a successful call end the run.
    #[must_use]
    pub fn loop_breaking(mut self) -> Self {
        self.order = ToolOrder::LoopBreaking;
        self
    }

    /// Marks the tool as idempotent: an interrupted call runs again when its run is resumed; see [`Tool::is_idempotent`].
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Allows the model to repeat the same call, with increasing pauses; see [`Tool::may_repeat`].
    #[must_use]
    pub fn may_repeat(mut self) -> Self {
        self.may_repeat = true;
        self
    }

    /// Sets what makes two calls equal for the loop guard; see [`Tool::identity`].
    #[must_use]
    pub fn identified_by(
        mut self,
        identity: impl Fn(&A) -> String + Send + Sync + 'static,
    ) -> Self {
        self.identity = Some(Box::new(identity));
        self
    }

    forgeline_types::setters! {
        TypedTool:
        /// Sets the effects of calls; see [`Tool::effects`].
        effects(ToolEffects),
        /// Sets the origin of the text of results; see [`Tool::origin`].
        origin(TextOrigin),
        /// Sets the module of the application that the tool belongs to; see [`Tool::module`].
        module(some into Text),
        /// Sets the permission that a caller needs; see [`Tool::permission`].
        permission(some into Text),
        /// Sets the maximum duration of a call; see [`Tool::timeout`].
        timeout(some Duration),
        /// Sets the maximum length of the result of a call, in characters; see [`Tool::max_result_chars`].
        max_result_chars(some usize),
    }

    /// Sets a preview, which shows a person the effects of a call before it is approved; see [`Tool::preview`].
    #[must_use]
    pub fn previewed_by<P, R>(mut self, preview: P) -> Self
    where
        P: Fn(ToolContext, A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Preview, ToolError>> + Send + 'static,
    {
        self.preview = Some(Box::new(move |context, arguments| {
            let preview = preview(context, arguments);
            Box::pin(async move { preview.await.map(Some) })
        }));
        self
    }

    /// Makes each call run alone, without other calls of the same response.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.order = ToolOrder::Alone;
        self
    }
}

impl<A, F, R, Kind> Tool for TypedTool<A, F, Kind>
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(ToolContext, A) -> R + Send + Sync,
    R: Future<Output: IntoToolResult<Kind>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Value {
        of_object(schema_of::<A>())
    }

    fn is_loop_breaking(&self) -> bool {
        matches!(self.order, ToolOrder::LoopBreaking)
    }

    fn runs_alone(&self) -> bool {
        matches!(self.order, ToolOrder::Alone)
    }

    fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    fn identity(&self, arguments: &Json) -> Option<String> {
        let identity = self.identity.as_ref()?;
        read_arguments(arguments).ok().map(|arguments| identity(&arguments))
    }

    fn effects(&self) -> ToolEffects {
        self.effects
    }

    fn origin(&self) -> TextOrigin {
        self.origin
    }

    fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    fn permission(&self) -> Option<&str> {
        self.permission.as_deref()
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn max_result_chars(&self) -> Option<usize> {
        self.max_result_chars
    }

    fn preview(&self, context: ToolContext, arguments: Json) -> PreviewFuture {
        match (&self.preview, read_arguments(&arguments)) {
            (Some(preview), Ok(arguments)) => preview(context, arguments),
            (None, _) => Box::pin(std::future::ready(Ok(None))),
            (_, Err(error)) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        match read_arguments(&arguments) {
            Ok(arguments) => {
                let running = (self.function)(context, arguments);
                Box::pin(async move { running.await.into_tool_result() })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

/// Reads the arguments of a call as a type; empty arguments may be read as `()`.
///
/// # Errors
///
/// Returns an error that names what does not fit the type.
pub fn read_arguments<A: DeserializeOwned>(arguments: &Json) -> Result<A, ToolError> {
    arguments.read().or_else(|error: serde_json::Error| {
        let none =
            arguments.as_str().chars().all(|sign| sign.is_whitespace() || "{}".contains(sign));
        let nothing = none.then(|| serde_json::from_value(Value::Null).ok()).flatten();
        nothing.ok_or_else(|| ToolError::invalid("", describe_mismatch(&error)))
    })
}

/// Returns the schema of arguments, which must be an object: an object without members for `()`,
/// and any object for a type that accepts anything.
fn of_object(schema: Value) -> Value {
    let Value::Object(fields) = &schema else { return json!({ "type": "object" }) };
    match fields.get("type").and_then(Value::as_str) {
        Some("null") => {
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        }
        None if fields.keys().all(|key| key == "description") => json!({ "type": "object" }),
        _ => schema,
    }
}

impl<A, F, Kind> fmt::Debug for TypedTool<A, F, Kind> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TypedTool").field("name", &self.name).finish_non_exhaustive()
    }
}
