//! Sub-agents that work while their parent run continues.

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::tools::{ToolError, ToolOutput};
use forgeline_types::Text;

/// Maximum number of background agents of one run, including those that have ended.
const BACKGROUND: usize = 32;

/// The result of a sub-agent.
pub(crate) type SubAgentResult = Result<ToolOutput, ToolError>;

/// The sub-agents that work while their parent run continues. They end with it.
#[derive(Debug, Default)]
pub(crate) struct BackgroundAgents(Vec<BackgroundAgent>);

/// A background agent.
#[derive(Debug)]
struct BackgroundAgent {
    /// The name of the tool that started the agent.
    tool: Text,
    handle: Text,
    stop: CancellationToken,
    /// `None` while the agent works.
    report: watch::Receiver<Option<SubAgentResult>>,
    /// The task, which is aborted when the run ends.
    _task: AbortOnDropHandle<()>,
}

/// A handle for calls that ask about a background agent.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundHandle {
    pub(crate) stop: CancellationToken,
    report: watch::Receiver<Option<SubAgentResult>>,
}

impl BackgroundAgents {
    /// Starts the work of an agent; returns the handle by which the model asks about it.
    pub(crate) fn begin(
        &mut self,
        tool: &Text,
        stop: CancellationToken,
        work: impl Future<Output = SubAgentResult> + Send + 'static,
    ) -> Result<Text, ToolError> {
        if self.0.len() >= BACKGROUND {
            let problem = format!(
                "a run has at most {BACKGROUND} agents in the background; give this task without `background`"
            );
            return Err(ToolError::failed(problem));
        }
        let number = 1 + self.started_by(tool).count();
        let handle = Text::from(format!("{tool}-{number}"));
        let (ended, report) = watch::channel(None);
        let task = tokio::spawn(async move {
            ended.send_replace(Some(work.await));
        });
        let (tool, returned) = (tool.clone(), handle.clone());
        self.0.push(BackgroundAgent {
            tool,
            handle,
            stop,
            report,
            _task: AbortOnDropHandle::new(task),
        });
        Ok(returned)
    }

    /// Returns an agent that this tool started.
    pub(crate) fn find(&self, tool: &Text, handle: &str) -> Result<BackgroundHandle, ToolError> {
        if let Some(BackgroundAgent { stop, report, .. }) =
            self.started_by(tool).find(|agent| agent.handle == handle)
        {
            return Ok(BackgroundHandle { stop: stop.clone(), report: report.clone() });
        }
        let known: Vec<_> =
            self.started_by(tool).map(|agent| format!("`{}`", agent.handle)).collect();
        let problem = match known.as_slice() {
            [] => format!(
                "`{handle}` is not a background agent of this run, which has none; give its task again"
            ),
            known => format!("`{handle}` is not one of {}", known.join(", ")),
        };
        Err(ToolError::invalid("agent", problem))
    }

    fn started_by(&self, tool: &Text) -> impl Iterator<Item = &BackgroundAgent> {
        self.0.iter().filter(move |agent| agent.tool == *tool)
    }
}

impl BackgroundHandle {
    /// Waits for the end of the agent, and returns its report. Cancel safe.
    pub(crate) async fn ended(&mut self) -> SubAgentResult {
        let report = self.report.wait_for(Option::is_some).await;
        let report = report.ok().and_then(|report| report.clone());
        report.unwrap_or_else(|| Err(ToolError::failed("the agent panicked; give its task again")))
    }
}
