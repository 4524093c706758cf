//! Encoders from the events of a run to the frames of protocols that browsers read.
//!
//! Each encoder is a pure function of the events: every reader of a run from its beginning gets the same frames. See [`Encode`].

mod ag_ui;
mod ag_ui_event;
mod calls;
mod end;
mod frame;
mod key;
mod native;
mod ui_asked;
mod ui_message;
mod ui_part;

#[cfg(test)]
mod tests;

use crate::types::Envelope;

pub(super) use self::native::head;
pub use self::{
    ag_ui::AgUi,
    end::{RunEnd, RunStatus},
    native::Native,
    ui_message::UiMessageStream,
};

/// An encoder of the events of one run, for one reader.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::DefaultAgent,
///     llm::demo::DemoProvider,
///     server::encode::{Encode, Native, RunEnd},
/// };
///
/// let agent = DefaultAgent::builder(DemoProvider::new()).build()?;
/// let mut stream = agent.run_stream("Hello");
/// let (mut encoder, mut frames, mut events) = (Native::new(), Vec::new(), 0);
/// while let Some(envelope) = stream.next().await {
///     encoder.event(&envelope, &mut frames);
///     events += 1;
/// }
/// encoder.end(&RunEnd::of(&stream.outcome().await?, events), &mut frames);
/// let frames = String::from_utf8(frames)?;
/// assert!(frames.starts_with("id: 0\nevent: update_busy\ndata: {"));
/// assert!(frames.contains("\nevent: run_end\n"));
/// # Ok(())
/// # }
/// ```
pub trait Encode: Send {
    /// Appends the frames of an event; some events have none in a protocol.
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>);

    /// Appends the frames of the end of the run, after its last event.
    fn end(&mut self, end: &RunEnd, out: &mut Vec<u8>);
}
