//! The part of an application in which a run is shown.

use serde::{Deserialize, Serialize};

/// The part of an application in which a run is shown, and in which a tool makes sense.
///
/// # Examples
///
/// A client tool is made for a full page; where a run is shown in a side panel, it is not offered:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{
///         Agent, RunInput,
///         run::Surface,
///         tools::{Calculator, ClientTool},
///     },
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": {} });
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello.")]);
/// let agent = Agent::builder(provider.clone())
///     .tool(Calculator)
///     .tool(ClientTool::new("page.title", "Returns the title of the page.", schema))
///     .build()?;
/// agent.run(RunInput::from("Hi").surface(Surface::SidePanel)).await?;
/// let request = &provider.requests()[0];
/// let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
/// assert_eq!(names, ["calculator"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Surface {
    /// A page of its own.
    FullPage,
    /// A panel beside the page.
    SidePanel,
    /// No client: the run is a job, or its events go to a log.
    None,
}
