//! The use of the instructions that vendors' clients send.

/// The use of the instructions that clients of `/v1/chat/completions` and `/v1/responses` send: `system` and `developer` messages, and `instructions`. None of
/// them reaches the system prompt but by a prompt part of the host.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::Agent,
///     llm::demo::DemoProvider,
///     server::{ClientInstructions, Service},
/// };
///
/// let agent = Agent::builder(DemoProvider::new()).build()?;
/// let service = Service::builder().agent("main", agent);
/// let service = service.client_instructions(ClientInstructions::Refuse).build()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientInstructions {
    /// The model reads them as a marked text of the user, at the beginning of the conversation.
    #[default]
    AsUserText,
    /// A request with instructions is refused, with 400 `instructions_refused`.
    Refuse,
    /// The model does not read them. They are in the metadata of the run as `client_instructions`, at most 16 KiB, for a
    /// [part of the system prompt](forgeline_agent::prompts::SystemPrompt) of the host, which decides about them.
    InMetadata,
}
