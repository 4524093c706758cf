//! The value of a run's answer, while it arrives.

use crate::notice::Notice;
use forgeline_llm::private::AnswerJson;
use forgeline_types::{AgentEvent, PartialValue};

/// The value so far of an answer that is bound by a schema, read from the events of its run.
///
/// It reads what the agent accepts: the JSON alone, in a fence or among words, as text or as the arguments of a call. Each time that the model is asked
/// for the value, it begins anew, and what is not JSON is passed over: only the outcome of the run says whether the answer is valid. It reads at most
/// 8 MiB of an answer; after that the value no longer grows.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, PartialAnswer, RunInput},
///     llm::AnswerSchema,
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Place {
///     city: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let turn = ScriptedTurn::new().text("Here it is: {\"city\":\"Lis").text("bon\"}");
/// let agent = Agent::builder(ScriptedProvider::new([turn])).build()?;
/// let mut run = agent.run_stream(RunInput::new("Where?").answer(AnswerSchema::of::<Place>()));
/// let (mut place, mut shown) = (PartialAnswer::default(), Vec::new());
/// while let Some(envelope) = run.next().await {
///     if place.read(&envelope.event) {
///         let city = place.value().and_then(|place| place.get("city")?.as_str());
///         shown.push(city.unwrap_or_default().to_owned());
///     }
/// }
/// assert_eq!(shown, ["Lis", "Lisbon"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct PartialAnswer {
    json: AnswerJson,
    /// `true` from the request for the value to the end of the run.
    is_asked: bool,
}

impl PartialAnswer {
    /// Reads the next event of the run; returns `true` if it adds to the value. Takes time linear in the length of the event.
    pub fn read(&mut self, event: &AgentEvent) -> bool {
        if let AgentEvent::MessageContent(text) = event {
            return self.is_asked && self.json.text(&text.content);
        }
        if let AgentEvent::ToolCallContent(call) = event {
            return self.is_asked && call.index == 0 && self.json.call(&call.arguments);
        }
        self.is_asked &= *event != AgentEvent::TurnEnd;
        if matches!(Notice::read(event), Some(Notice::AnswerTyped(_))) {
            *self = Self { is_asked: true, ..Self::default() };
        }
        false
    }

    /// Returns the value so far, in which strings, lists and objects that are still open have what arrived. Returns `None` before its first byte.
    #[must_use]
    pub fn value(&self) -> Option<PartialValue<'_>> {
        self.json.value()
    }
}
