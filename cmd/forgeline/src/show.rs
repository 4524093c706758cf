//! A run on the screen, in a pipe, or as JSON lines.

use std::{io, time::Duration};

use forgeline::{
    agent::notice::Notice,
    types::{AgentEvent, Completion, Envelope, MessageContentEvent, ToolCallEvent},
};
use terminal_size::{Width, terminal_size_of};
use tokio::time::Instant;

use crate::{
    amount::AmountArgs,
    interrupt::StopHandle,
    output::{EventOutput, is_watched, stdout},
    render::{AnswerText, EventRenderer, escape_controls},
    run_facts::RunFacts,
    spinner::Spinner,
    trace::{self, RequestSizes, TraceLines},
    writer::{OutputTarget, OutputWriter},
};

/// The time without events after which a held text is shown: the model may go on much later.
const QUIET: Duration = Duration::from_secs(1);

/// Most characters of the name of a tool that is waited for: the line is written over, so it must be one.
const MAX_WAITED_CHARS: usize = 40;

/// Returns the columns of the terminal that shows what is not the answer; `None` where it is none.
fn width_of(form: ShowForm) -> Option<usize> {
    let size = match form {
        ShowForm::Whole => terminal_size_of(io::stdout()),
        ShowForm::Answer => terminal_size_of(io::stderr()),
        ShowForm::Json => None,
    };
    size.map(|(Width(columns), _)| usize::from(columns)).filter(|columns| *columns > 0)
}

/// The form in which a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowForm {
    /// JSON lines on stdout.
    Json,
    /// Everything as text on stdout.
    Whole,
    /// The answer alone on stdout, everything else as text on stderr.
    Answer,
}

/// Shows the events of runs; writes on a thread of its own.
#[derive(Debug)]
pub struct EventDisplay {
    writer: OutputWriter,
    form: ShowForm,
    json: EventOutput<Vec<u8>>,
    renderer: EventRenderer,
    answer: AnswerText,
    spinner: Spinner,
    /// The lines of the trace, where one is wanted.
    trace: Option<TraceLines>,
    /// What was not handed over yet.
    pieces: Vec<(OutputTarget, Vec<u8>)>,
    /// When the last event came.
    last: Instant,
    amount: AmountArgs,
    /// `true` once nothing is taken any more of what an answer shows that was stopped.
    is_stuck: bool,
}

impl EventDisplay {
    /// Starts to show in this form.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(form: ShowForm, amount: AmountArgs) -> io::Result<Self> {
        let writer = OutputWriter::start(stdout(form == ShowForm::Json), anstream::stderr())?;
        Ok(Self {
            writer,
            form,
            json: EventOutput::new(Vec::new(), true),
            renderer: EventRenderer::of_width(amount.is_verbose(), width_of(form)),
            answer: AnswerText::default(),
            spinner: Spinner::new(form == ShowForm::Whole && is_watched()),
            amount,
            trace: None,
            pieces: Vec::new(),
            last: Instant::now(),
            is_stuck: false,
        })
    }

    /// Shows a trace of the runs, too.
    #[must_use]
    pub(crate) fn traced(mut self, requests: Option<RequestSizes>) -> Self {
        self.trace = requests.map(TraceLines::new);
        self
    }

    /// Begins to show another run.
    pub fn begin(&mut self) {
        self.renderer = EventRenderer::of_width(self.amount.is_verbose(), width_of(self.form));
        self.answer = AnswerText::default();
        self.is_stuck = false;
    }

    /// Shows an event.
    ///
    /// # Errors
    ///
    /// When writing failed.
    pub async fn event(&mut self, envelope: &Envelope, stop: &StopHandle) -> io::Result<()> {
        self.last = Instant::now();
        self.clear_spinner();
        self.label(&envelope.event);
        match self.form {
            ShowForm::Json => {
                self.json.envelope(envelope)?;
                let line = self.json.take();
                self.push(OutputTarget::Out, line);
            }
            ShowForm::Whole => {
                let text = self.renderer.event(&envelope.event);
                self.push(OutputTarget::Out, text);
            }
            ShowForm::Answer => self.part(&envelope.event),
        }
        let lines = self.trace.as_mut().map(|trace| trace.event(envelope)).unwrap_or_default();
        self.trace(lines);
        self.hand_over(stop).await
    }

    /// Shows lines of the trace behind those of the library, whatever else is wanted.
    fn trace(&mut self, lines: Vec<String>) {
        let is_free = self.form == ShowForm::Json || self.renderer.is_at_line_start();
        if self.trace.is_none() || (lines.is_empty() && !is_free) {
            return;
        }
        for line in trace::waiting().into_iter().chain(lines) {
            let is_json = self.form == ShowForm::Json;
            let line = if is_json { line + "\n" } else { self.renderer.line(&line) };
            self.pieces.push((OutputTarget::Err, line.into_bytes()));
        }
    }

    /// Separates the answer from the rest.
    fn part(&mut self, event: &AgentEvent) {
        let added = self.answer.event(event);
        if !added.remark.is_empty() {
            let text = self.renderer.event(&AgentEvent::MessageContent(MessageContentEvent::new(
                added.remark.as_str(),
            )));
            self.push(OutputTarget::Err, text);
        }
        self.push(OutputTarget::Out, added.answer);
        if !matches!(event, AgentEvent::MessageContent(_)) {
            let text = self.renderer.event(event);
            self.push(OutputTarget::Err, text);
        }
    }

    /// Says what is being waited for.
    fn label(&mut self, event: &AgentEvent) {
        if let AgentEvent::ApiCallStart(_) = event {
            self.spinner.wait_for("waiting for the model".to_owned());
        } else if let AgentEvent::ToolApprovalRequest(_) | AgentEvent::ToolQuestion(_) = event {
            self.spinner.wait_for("waiting for your answer".to_owned());
        } else if let AgentEvent::ToolCall(ToolCallEvent { tool_name, .. }) = event {
            let name: String = line(tool_name).chars().take(MAX_WAITED_CHARS).collect();
            self.spinner.wait_for(format!("{name} is running"));
        }
        let note = match Notice::read(event) {
            Some(Notice::CallModeFallback(notice)) => format!(
                "the provider does not accept tools, so calls are now written as text ({})\n",
                line(&notice.reason)
            ),
            Some(Notice::CallsInText(notice)) => format!(
                "calls came in the text of {}, which is not a known model, and are read there\n",
                line(&notice.model)
            ),
            Some(Notice::AnswerAskedAgain(notice)) => {
                format!("the model is asked once more: {}\n", line(&notice.reason))
            }
            _ => return,
        };
        self.push(OutputTarget::Err, note);
    }

    /// Shows that time passes; what does not fit into the queue is left out.
    ///
    /// # Errors
    ///
    /// When writing failed.
    pub async fn tick(&mut self, stop: &StopHandle) -> io::Result<()> {
        if self.form == ShowForm::Answer && self.last.elapsed() >= QUIET {
            let text = self.answer.let_go();
            self.push(OutputTarget::Out, text);
            self.hand_over(stop).await?;
        }
        if self.renderer.is_at_line_start() {
            self.trace(Vec::new());
            self.hand_over(stop).await?;
        }
        if self.renderer.is_at_line_start()
            && let Some(frame) = self.spinner.turn()
        {
            self.writer.offer(OutputTarget::Err, frame.into_bytes());
        }
        Ok(())
    }

    /// Shows a remark on a run, beside what the run says.
    ///
    /// # Errors
    ///
    /// When writing failed.
    pub async fn remark(&mut self, text: &str, stop: &StopHandle) -> io::Result<()> {
        self.clear_spinner();
        let text = self.renderer.remark(text);
        self.push(
            if self.form == ShowForm::Whole { OutputTarget::Out } else { OutputTarget::Err },
            text,
        );
        self.hand_over(stop).await
    }

    /// Shows the end of a run: a line of facts for people, the completion as JSON.
    ///
    /// # Errors
    ///
    /// When writing failed.
    pub async fn end(
        &mut self,
        completion: &Completion,
        facts: &RunFacts,
        footer: &str,
        stop: &StopHandle,
    ) -> io::Result<()> {
        self.clear_spinner();
        match self.form {
            ShowForm::Json => {
                self.json.run_completion(completion, facts)?;
                let line = self.json.take();
                self.push(OutputTarget::Out, line);
            }
            ShowForm::Whole | ShowForm::Answer => {
                let held = self.answer.let_go();
                self.push(OutputTarget::Out, held);
                let footer = if self.amount.is_quiet() { "" } else { footer };
                let text = self.renderer.footer(footer);
                let is_whole = self.form == ShowForm::Whole;
                self.push(if is_whole { OutputTarget::Out } else { OutputTarget::Err }, text);
            }
        }
        self.hand_over(stop).await?;
        self.finish(stop).await
    }

    /// Shows a text for people.
    ///
    /// # Errors
    ///
    /// When writing failed.
    pub async fn say(&mut self, text: &str, stop: &StopHandle) -> io::Result<()> {
        self.push(OutputTarget::Out, format!("{}\n", escape_controls(text)));
        self.hand_over(stop).await?;
        self.finish(stop).await
    }

    /// Waits until everything is written, or is not taken after the user stopped it.
    async fn finish(&mut self, stop: &StopHandle) -> io::Result<()> {
        if self.is_stuck {
            return Ok(());
        }
        stop.patiently(self.writer.finish()).await.unwrap_or(Ok(()))
    }

    fn clear_spinner(&mut self) {
        let clear = self.spinner.clear();
        self.push(OutputTarget::Err, clear);
    }

    fn push(&mut self, target: OutputTarget, piece: impl Into<Vec<u8>>) {
        let piece = piece.into();
        // Beside the answer only the spinner and remarks are written here; errors have their own way.
        let is_wanted = target == OutputTarget::Out || !self.amount.is_quiet();
        if is_wanted && !piece.is_empty() {
            self.pieces.push((target, piece));
        }
    }

    async fn hand_over(&mut self, stop: &StopHandle) -> io::Result<()> {
        for (target, piece) in self.pieces.drain(..) {
            if self.is_stuck {
                continue;
            }
            match stop.patiently(self.writer.write(target, piece)).await {
                Some(written) => written?,
                None => self.is_stuck = true,
            }
        }
        Ok(())
    }
}

/// Returns a text of others as part of a line.
fn line(text: &str) -> String {
    escape_controls(text).replace('\n', " ")
}
