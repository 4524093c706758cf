//! The output: events as JSON lines, or as text for people.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use forgeline::types::{AgentEvent, Completion, Envelope};
use serde::Serialize;
use serde_json::Value;

use crate::{
    render::{EventRenderer, SafeJson, completion_summary},
    run_facts::RunFacts,
};

/// Writes events and the completion in the form that the user chose.
#[derive(Debug)]
pub struct EventOutput<W> {
    out: W,
    /// `None` writes JSON lines.
    renderer: Option<EventRenderer>,
}

/// The writer behind the output of all commands.
pub type Sink = Box<dyn Write + Send>;

/// Returns buffered stdout, without colours unless it is a terminal; flush it where the user should see
/// what there is.
#[must_use]
pub fn stdout(json: bool) -> Sink {
    const BUFFER_BYTES: usize = 32 << 10;
    if json {
        Box::new(BufWriter::with_capacity(BUFFER_BYTES, io::stdout()))
    } else {
        Box::new(BufWriter::with_capacity(BUFFER_BYTES, anstream::stdout()))
    }
}

/// Returns `true` when both streams are terminals.
#[must_use]
pub fn is_watched() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

impl<W: Write> EventOutput<W> {
    /// Returns an output that writes JSON lines or text for people to `out`.
    pub fn new(out: W, json: bool) -> Self {
        Self { out, renderer: (!json).then(EventRenderer::default) }
    }

    /// Writes one event without its envelope.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        match &mut self.renderer {
            Some(renderer) => self.out.write_all(renderer.event(event).as_bytes()),
            None => json_line(&mut self.out, event),
        }
    }

    /// Writes events as [`event`](Self::event) does, and leaves none.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn events(&mut self, events: &mut Vec<AgentEvent>) -> io::Result<()> {
        events.drain(..).try_for_each(|event| self.event(&event))
    }

    /// Writes one event; as JSON, with its envelope.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn envelope(&mut self, envelope: &Envelope) -> io::Result<()> {
        match &self.renderer {
            Some(_) => self.event(&envelope.event),
            None => json_line(&mut self.out, envelope),
        }
    }

    /// Writes the last words: the completion line as JSON, or one line of facts.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn completion(&mut self, completion: &Completion) -> io::Result<()> {
        match &mut self.renderer {
            Some(renderer) => {
                let summary = completion_summary(completion);
                self.out.write_all(renderer.footer(&summary).as_bytes())?;
            }
            None => completion_line(&mut self.out, completion)?,
        }
        self.flush()
    }

    /// Writes the last words of a run as [`completion`](Self::completion) does; as JSON, with its ending and its turns.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn run_completion(&mut self, completion: &Completion, facts: &RunFacts) -> io::Result<()> {
        if self.renderer.is_some() {
            return self.completion(completion);
        }
        let run = Some(facts);
        json_line(&mut self.out, &EventLine { kind: "completion", id: None, completion, run })?;
        self.flush()
    }

    /// Flushes the text written so far.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl EventOutput<Vec<u8>> {
    /// Returns what was written and forgets it.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

/// Writes `{"type":"completion",…}` and a line feed.
///
/// # Errors
///
/// When writing fails.
pub fn completion_line(out: &mut impl Write, completion: &Completion) -> io::Result<()> {
    json_line(out, &EventLine { kind: "completion", id: None, completion, run: None })
}

/// Writes the completion of one item of a batch, with the item's id.
///
/// # Errors
///
/// When writing fails.
pub fn batch_line(out: &mut impl Write, id: &Value, completion: &Completion) -> io::Result<()> {
    json_line(out, &EventLine { kind: "completion", id: Some(id), completion, run: None })
}

#[derive(Serialize)]
struct EventLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(flatten)]
    completion: &'a Completion,
    #[serde(flatten)]
    run: Option<&'a RunFacts>,
}

/// Writes a value as a line of JSON that shows nothing a terminal obeys.
///
/// # Errors
///
/// When writing fails.
pub(crate) fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, SafeJson))?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_completion_line_has_every_key_in_the_order_of_the_contract() {
        let mut line = Vec::new();
        completion_line(&mut line, &Completion::default()).unwrap();
        let want = concat!(
            r#"{"type":"completion","text":"","thinking":"","refusal":"","tool_calls":[],"#,
            r#""finish_reason":null,"usage":null,"finish_reason_raw":null,"usage_raw":null,"#,
            r#""error_raw":null,"model":null,"response_id":null,"complete":false,"#,
            r#""late_thinking_bytes":0,"fenced_calls":0,"error":null}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(line).unwrap(), want);
        let mut line = Vec::new();
        batch_line(&mut line, &Value::from(7), &Completion::default()).unwrap();
        let want = want.replace(r#","text""#, r#","id":7,"text""#);
        assert_eq!(String::from_utf8(line).unwrap(), want);
    }
}
