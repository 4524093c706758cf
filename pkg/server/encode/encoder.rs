//! The traits of encoders.

use super::{RunEnd, message_writer::MessageWriter};
use forgeline_types::Envelope;

/// An encoder of the events of one run, for one reader.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::Agent,
///     llm::demo::DemoProvider,
///     server::encode::{Encode, Native, RunEnd},
/// };
///
/// let agent = Agent::builder(DemoProvider::new()).build()?;
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

/// An encoder of the events of one run into messages, whatever the form in which a response sends them.
pub(crate) trait EncodeMessages: Send {
    /// Sends the messages of an event; some events have none in a protocol.
    fn encode_event(&mut self, envelope: &Envelope, out: &mut MessageWriter<'_>);

    /// Sends the messages of the end of the run, after its last event.
    fn encode_end(&mut self, end: &RunEnd, out: &mut MessageWriter<'_>);
}
