//! Agents that are tools of others: a line when one begins, a line when it ends, those below it indented.

use forgeline::{
    agent::notice::SubAgentEvent,
    types::{AgentEvent, ErrorEvent, Text, ToolResultEvent, UpdateBusyEvent},
};

use super::{
    EventRenderer, escape_controls,
    fold::fold,
    screen::{columns, columns_of},
};

/// The indentation of the agents below, in columns.
const INDENT: usize = 2;
/// The columns of the mark before a name.
const MARK_COLUMNS: usize = 2;
/// The columns of the line of a beginning, without the name.
const BEGINS_COLUMNS: usize = INDENT + MARK_COLUMNS + " begins".len();
/// Least columns of a name.
const MIN_NAME_COLUMNS: usize = 8;
/// Most characters of a failure that are shown.
const MAX_FAILURE_CHARS: usize = 32;

/// The agents of one run that work.
#[derive(Debug, Default)]
pub(super) struct WorkingAgents(Vec<WorkingAgent>);

/// An agent that works.
#[derive(Debug)]
struct WorkingAgent {
    run_id: Text,
    call_id: Text,
    name: Text,
    /// `true`: the end of its call is not its own.
    background: bool,
    turns: usize,
    calls: usize,
    failure: Option<String>,
    /// Shows its events, and the agents below it.
    renderer: EventRenderer,
    /// The beginning of a line.
    held: String,
    /// The columns of its lines.
    width: Option<usize>,
}

impl WorkingAgents {
    /// Returns whole lines for an event of an agent below, of at most `width` columns; `is_whole` shows all of them.
    pub(super) fn event(
        &mut self,
        event: SubAgentEvent,
        (is_whole, width): (bool, Option<usize>),
    ) -> String {
        let SubAgentEvent { call_id, tool_name: name, background, envelope, .. } = event;
        let (run_id, event) = (envelope.run_id, envelope.event);
        let mut shown = String::new();
        let at = self.0.iter().position(|agent| agent.run_id == run_id).unwrap_or_else(|| {
            shown = format!("  ▸ {} begins\n", named(&name, width, BEGINS_COLUMNS));
            let width = width.map(|width| width.saturating_sub(INDENT));
            let (renderer, held) = (EventRenderer::of_width(is_whole, width), String::new());
            let (turns, calls, failure) = (0, 0, None);
            let agent = WorkingAgent {
                run_id,
                call_id,
                name,
                background,
                turns,
                calls,
                failure,
                renderer,
                held,
                width,
            };
            self.0.push(agent);
            self.0.len() - 1
        });
        let Some(agent) = self.0.get_mut(at) else { return shown };
        agent.see(&event, is_whole, &mut shown);
        if matches!(event, AgentEvent::UpdateBusy(UpdateBusyEvent { busy: false, .. })) {
            shown.push_str(&self.0.remove(at).end(None));
        }
        shown
    }

    /// Returns the last lines of agents whose call, or the run above, has ended before they reported their end.
    pub(super) fn ended(&mut self, event: &AgentEvent) -> String {
        let call = if let AgentEvent::ToolResult(ToolResultEvent { call_id: id, .. })
        | AgentEvent::ToolResultError(ToolResultEvent { call_id: id, .. }) = event
        {
            Some(id)
        } else if matches!(event, AgentEvent::UpdateBusy(UpdateBusyEvent { busy: false, .. })) {
            None
        } else {
            return String::new();
        };
        let has_ended = |agent: &mut WorkingAgent| {
            call.is_none_or(|id| agent.call_id == *id && !agent.background)
        };
        self.0.extract_if(.., has_ended).map(|it| it.end(Some("stopped"))).collect()
    }
}

impl WorkingAgent {
    fn see(&mut self, event: &AgentEvent, is_whole: bool, shown: &mut String) {
        self.turns += usize::from(matches!(event, AgentEvent::ApiCallStart(_)));
        self.calls += usize::from(matches!(event, AgentEvent::ToolCall(_)));
        if let AgentEvent::Error(ErrorEvent { error, .. }) = event {
            self.failure = Some(error.message.to_string());
        }
        // People are asked, and agents further below work, where the rest is folded too.
        let is_shown = is_whole
            || event.kind().starts_with("tool_approval")
            || SubAgentEvent::read(event).is_some();
        if is_shown {
            let text = self.renderer.event(event);
            self.take(&text, shown);
        }
    }

    /// Shows the lines that a text ends, and keeps what it begins. What was kept is not looked through again: a line may
    /// come in very many events.
    fn take(&mut self, text: &str, shown: &mut String) {
        let Some((whole, begun)) = text.rsplit_once('\n') else {
            self.held.push_str(text);
            return;
        };
        self.held.push_str(whole);
        shown.extend(self.held.split('\n').map(indented));
        self.held.clear();
        self.held.push_str(begun);
    }

    /// Returns the line of its end, behind what it had begun to show.
    fn end(mut self, how: Option<&str>) -> String {
        self.held.push_str(&self.renderer.footer(""));
        let begun: String = self.held.lines().map(indented).collect();
        let how = match (&self.failure, how) {
            (_, Some(how)) => how.to_owned(),
            (Some(failure), None) => {
                let (line, _) = fold(failure, 1);
                let line: String = line.concat().chars().take(MAX_FAILURE_CHARS).collect();
                format!("failed: {line}")
            }
            (None, None) => "done".to_owned(),
        };
        let (turns, calls) = (counted(self.turns, "turn"), counted(self.calls, "call"));
        let line = escape_controls(&format!(": {how} ({turns}, {calls})\n")).into_owned();
        let width = self.width.map(|width| width + INDENT);
        let name = named(&self.name, width, columns(line.trim_end()) + INDENT + MARK_COLUMNS);
        format!("{begun}  ◂ {name}{line}")
    }
}

/// Returns a name where `others` columns of its line are taken; one that is too long is cut.
fn named(name: &str, width: Option<usize>, others: usize) -> String {
    let name = escape_controls(name);
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(others).max(MIN_NAME_COLUMNS));
    if columns(&name) <= room {
        return name.into_owned();
    }
    let mut taken = 1;
    let fits = |letter: &char| {
        taken += columns_of(*letter);
        taken <= room
    };
    name.chars().take_while(fits).chain(['…']).collect()
}

fn indented(line: &str) -> String {
    if line.trim().is_empty() { "\n".to_owned() } else { format!("  {line}\n") }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use forgeline::{
        agent::{Agent, sub_agents::SubAgent},
        testing::{ScriptedProvider, ScriptedTurn},
    };
    use serde_json::json;

    use forgeline::types::CustomEvent;

    use super::*;

    fn below(name: &'static str, turns: [ScriptedTurn; 2], tool: Option<SubAgent>) -> Agent {
        let agent = Agent::builder(ScriptedProvider::new(turns)).system(name);
        match tool {
            Some(tool) => agent.tool(tool),
            None => agent,
        }
        .build()
        .unwrap()
    }

    /// Shows a run with two levels below it, the deepest of which fails.
    async fn shown(is_whole: bool) -> String {
        let text = |text| ScriptedTurn::new().text(text);
        let ask = |name| ScriptedTurn::new().call(name, json!({ "task": "Look." }));
        let fails = below("c", [ScriptedTurn::new().call("nope", json!({})), text("\n")], None);
        let middle = [ask("search"), text("It rains.")];
        let middle = below("b", middle, Some(fails.into_tool("search", "Searches.")));
        let top = [ask("weather"), text("Stay in.")];
        let top = below("a", top, Some(middle.into_tool("weather", "Looks at the weather.")));
        let (mut stream, mut renderer) = (top.run_stream("Go."), EventRenderer::new(is_whole));
        let mut shown = String::new();
        while let Some(envelope) = stream.next().await {
            shown.push_str(&renderer.event(&envelope.event));
        }
        anstream::adapter::strip_str(&shown).to_string()
    }

    #[tokio::test]
    async fn agents_below_are_indented_and_folded() {
        let shown = shown(false).await;
        let lines: Vec<_> = shown.lines().collect();
        let want = [
            "● weather {\"task\":\"Look.\"}",
            "  ▸ weather begins",
            "    ▸ search begins",
            "    ◂ search: ",
            "  ◂ weather: done (2 turns, 1 call)",
            "  └ It rains.",
            "",
            "Stay in.",
        ];
        assert_eq!(lines.len(), want.len(), "{shown}");
        for (line, want) in lines.iter().zip(want) {
            assert!(line.starts_with(want) && line.chars().count() <= 80, "{line:?} in {shown}");
        }
    }

    #[tokio::test]
    async fn verbose_shows_all_of_the_agents_below() {
        let shown = shown(true).await;
        for part in ["\n  It rains.\n", "\n  ◂ weather: done", "\n  ● search", "\n    ● nope"]
        {
            assert!(shown.contains(part), "{part:?} in {shown}");
        }
    }

    fn event(background: bool) -> SubAgentEvent {
        let event = SubAgentEvent::read(&AgentEvent::Custom(CustomEvent::new(
            forgeline::agent::notice::SUB_AGENT,
            json!({
                "parent_run_id": "run-1", "call_id": "call_0", "name": "help\u{7}", "background": background,
                "envelope": { "run_id": "run-2", "turn": 1, "seq": 0, "at": 0, "type": "message_content", "content": "a" },
            }),
        )));
        event.unwrap()
    }

    #[test]
    fn lines_that_come_in_pieces_are_shown_once_and_whole() {
        let mut agents = WorkingAgents::default();
        agents.event(event(false), (false, None));
        let agent = &mut agents.0[0];
        let text = "ab\n\nc\ndé\n".repeat(40);
        let want: String = text.lines().map(indented).collect();
        for size in 1..9 {
            let mut shown = String::new();
            let letters: Vec<_> = text.chars().chain("end".chars()).collect();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                agent.take(&piece, &mut shown);
                assert!(!agent.held.contains('\n'));
            }
            assert_eq!((&shown, agent.held.as_str()), (&want, "end"), "{size}");
            agent.held.clear();
        }
    }

    #[test]
    fn one_in_the_background_ends_with_the_run_and_not_with_its_call() {
        let mut agents = WorkingAgents::default();
        agents.event(event(true), (false, None));
        let result = AgentEvent::ToolResult(
            ToolResultEvent::new("call_0", "help", "works in the background").duration_ms(1),
        );
        assert_eq!(agents.ended(&result), "");
        let ended = agents.ended(&AgentEvent::UpdateBusy(UpdateBusyEvent::new(false)));
        assert!(ended.contains(": stopped"), "{ended}");
    }

    #[test]
    fn one_that_is_stopped_ends_with_its_call() {
        let mut agents = WorkingAgents::default();
        let shown = agents.event(event(false), (false, None));
        assert!(shown.starts_with("  ▸ help") && !shown.contains('\u{7}'), "{shown:?}");
        let result = |id: &str| {
            AgentEvent::ToolResultError(
                ToolResultEvent::new(id, "help", "cancelled").duration_ms(1),
            )
        };
        assert_eq!(agents.ended(&result("call_1")), "");
        assert!(agents.ended(&result("call_0")).contains(": stopped (0 turns, 0 calls)"));
        assert_eq!(agents.ended(&result("call_0")), "");
    }
}
