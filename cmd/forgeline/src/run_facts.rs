//! The facts about a run in its completion line, besides the last answer.

use forgeline::types::{AgentEvent, Completion, CompletionBuilder, Ending, Envelope, ToolCall};
use serde::Serialize;

/// The ending of a run, and its turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    /// The way in which the run ended.
    pub ending: Ending,
    /// The turns in order.
    pub turns: Vec<TurnFacts>,
}

/// The answer of the model in one turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnFacts {
    turn: u32,
    text: String,
    thinking: String,
    refusal: String,
    tool_calls: Vec<ToolCall>,
}

/// Joins the events of a run into its turns.
#[derive(Debug, Default)]
pub(crate) struct TurnBuilder {
    ended: Vec<TurnFacts>,
    turn: u32,
    builder: CompletionBuilder,
}

impl TurnBuilder {
    /// Takes the next event.
    pub(crate) fn push(&mut self, envelope: &Envelope) {
        if let AgentEvent::ApiCallStart(_) = envelope.event
            && envelope.turn != self.turn
        {
            self.end_turn();
            self.turn = envelope.turn;
        }
        self.builder.push(&envelope.event);
    }

    /// Returns the turns.
    pub(crate) fn finish(mut self) -> Vec<TurnFacts> {
        self.end_turn();
        self.ended
    }

    fn end_turn(&mut self) {
        let Completion { text, thinking, refusal, tool_calls, .. } =
            std::mem::take(&mut self.builder).finish();
        if self.turn > 0 {
            self.ended.push(TurnFacts { turn: self.turn, text, thinking, refusal, tool_calls });
        }
    }
}

impl RunFacts {
    /// Reduces the text of a whole run to that of its last turn; reasoning and calls are those of all turns. `said` is the run's own text of an answer that took
    /// several turns.
    pub(crate) fn narrow(&self, completion: &mut Completion, said: &str) {
        let Some(last) = self.turns.last() else { return };
        let TurnFacts { text, refusal, .. } = last;
        let is_joined = self.ending == Ending::Answered || self.ending == Ending::Cut;
        let is_whole = is_joined && !text.is_empty() && said.ends_with(text.as_str());
        if is_whole { said } else { text }.clone_into(&mut completion.text);
        completion.refusal.clone_from(refusal);
    }
}

#[cfg(test)]
mod tests {
    use forgeline::types::{ApiCallStartEvent, MessageContentEvent};

    use super::*;

    fn turns(said: &[(u32, &str)]) -> Vec<TurnFacts> {
        let mut builder = TurnBuilder::default();
        for (turn, text) in said {
            let start = AgentEvent::ApiCallStart(ApiCallStartEvent::new("p", "m"));
            let content = AgentEvent::MessageContent(MessageContentEvent::new(*text));
            for event in [start, content] {
                let json = serde_json::json!({ "run_id": "r", "turn": turn, "seq": 0, "at": 0 });
                let mut json = json;
                let event = serde_json::to_value(event).unwrap();
                json.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
                builder.push(&serde_json::from_value(json).unwrap());
            }
        }
        builder.finish()
    }

    // Rows: N-11
    #[test]
    fn a_completion_has_the_last_turn_and_the_others_stand_beside_it() {
        #[rustfmt::skip]
        let rows = [
            ("one turn",        &[(1, "Hi.")][..],                Ending::Answered, "Hi.",      "Hi.",      1),
            ("a remark before", &[(1, "I look."), (2, "It is.")], Ending::Answered, "It is.",   "It is.",   2),
            ("continued",       &[(1, "One, "), (2, "two.")],     Ending::Answered, "One, two.", "One, two.", 2),
            ("cut again",       &[(1, "One, "), (2, "two, ")],    Ending::Cut,      "One, two, ", "One, two, ", 2),
            ("asked again",     &[(1, ""), (2, "Here.")],         Ending::Answered, "Here.",    "Here.",    2),
            ("sent twice",      &[(1, ""), (1, "Here.")],         Ending::Answered, "Here.",    "Here.",    1),
            ("no answer",       &[(1, "I look."), (2, "")],       Ending::Empty,    "Our words.", "",       2),
            ("a limit",         &[(1, "I look."), (2, "")],       Ending::Limit,    "The limit.", "",       2),
        ];
        for (name, said, ending, text, want, count) in rows {
            let facts = RunFacts { ending, turns: turns(said) };
            let mut completion = Completion::default();
            completion.text = said.iter().map(|(_, text)| *text).collect();
            facts.narrow(&mut completion, text);
            assert_eq!((completion.text.as_str(), facts.turns.len()), (want, count), "{name}");
        }
    }
}
