//! Approval of calls: who is asked, and what is answered.

use std::{
    convert::Infallible,
    io::{self, IsTerminal as _},
    str::FromStr,
};

use forgeline::{
    agent::{
        AgentBuilder, RunStream,
        approval::{ApprovalContext, Decision},
        notice::SubAgentEvent,
        steering::{Approvals, Questions},
    },
    types::{AgentEvent, ApprovalReason, Text},
};

use crate::{exit::usage, forms::QuestionForms, terminal::TypedLines};

/// The answer to calls that need approval, as a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Such calls are rejected.
    Never,
    /// The user is asked.
    Ask,
    /// Those of these tools run, about others the user is asked.
    Tools(Vec<Text>),
}

impl FromStr for ApprovalMode {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(match text {
            "never" => Self::Never,
            "ask" => Self::Ask,
            _ => Self::Tools(names.map(Text::from).collect()),
        })
    }
}

impl ApprovalMode {
    /// Returns `true` when a tool of an MCP server is named, so that it must be known which there are.
    pub(crate) fn names_servers(&self) -> bool {
        let is_of_server = |name: &Text| name.starts_with("mcp.");
        matches!(self, Self::Tools(names) if names.iter().any(is_of_server))
    }

    /// Returns the tools of MCP servers that are named.
    #[cfg(feature = "serve")]
    pub(crate) fn of_servers(&self) -> impl Iterator<Item = &Text> {
        let names = if let Self::Tools(names) = self { names.as_slice() } else { &[] };
        names.iter().filter(|name| name.starts_with("mcp."))
    }

    /// Sets up whom the agent asks, which has the tools of these names. When it `is_served`, people answer over the network.
    ///
    /// # Errors
    ///
    /// A usage error for the name of a tool that the agent does not have.
    pub fn set_up(
        &self,
        builder: AgentBuilder,
        known: &[Text],
        is_served: bool,
    ) -> anyhow::Result<AgentBuilder> {
        let builder = match self {
            Self::Never => {
                let why =
                    "the program was started with `--approve never`, which lets no such call run";
                return Ok(reject(builder, why, why));
            }
            Self::Ask => builder,
            Self::Tools(names) => {
                if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
                    let known = known.join(", ");
                    return Err(usage(format!(
                        "--approve: unknown tool {unknown}; expected never, ask, or some of: {known}"
                    )));
                }
                builder.grant(names.iter().cloned())
            }
        };
        if is_served || io::stdin().is_terminal() {
            return Ok(builder);
        }
        let why = "the input is not a terminal, so the user cannot be asked; --approve names tools that may run";
        Ok(reject(builder, why, NOT_AGAIN))
    }
}

fn reject(builder: AgentBuilder, why: &'static str, again: &'static str) -> AgentBuilder {
    builder.approver(move |asked: ApprovalContext| async move {
        let is_again = asked.request.reason == ApprovalReason::OutsideText;
        Decision::unanswered(if is_again { again } else { why })
    })
}

/// The reason for which a call that was named does not run behind text from outside.
const NOT_AGAIN: &str = "after other text from outside, --approve and --trust-mcp do not apply; run in a terminal to be \
    asked, or set trustAnnotations for a server whose read-only tools may run";

/// The reason for which a call is asked about that was allowed before.
const AGAIN: &str = "Text from outside may have caused this call, so it needs approval each time. ";

/// The question that is asked about a call.
const QUESTION: &str = "Allow it? y: yes, n: no, a: always; or write what to do instead.";

/// The ends at which requests and questions of a run are answered.
#[derive(Debug)]
pub struct RequestHandles {
    /// Answers requests for approval.
    pub approvals: Approvals,
    /// Answers questions of tools.
    pub questions: Questions,
    /// The requests and questions whose events were shown. One that is open may still be on its way to the screen, and
    /// a user must see a change before being asked about it.
    shown: Vec<Text>,
}

impl RequestHandles {
    /// Returns those of a run.
    #[must_use]
    pub fn for_stream(stream: &RunStream) -> Self {
        let (approvals, questions) = (stream.approvals(), stream.questions());
        Self { approvals, questions, shown: Vec::new() }
    }

    /// Takes note of an event that was shown, also of an agent below.
    pub fn has_shown(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolApprovalRequest(request) = event {
            self.shown.push(request.approval_id.clone());
        } else if let AgentEvent::ToolQuestion(question) = event {
            self.shown.push(question.question_id.clone());
        } else if let Some(below) = SubAgentEvent::read(event) {
            self.has_shown(&below.envelope.event);
        }
    }

    /// Returns `true` for a request or question that was shown.
    fn is_shown(&self, id: &Text) -> bool {
        self.shown.contains(id)
    }
}

/// Asks the user about the calls of one run, and what its tools ask.
#[derive(Debug, Default)]
pub struct UserPrompter {
    asked: Vec<Text>,
    forms: QuestionForms,
}

impl UserPrompter {
    /// Returns the question about a request that was shown and not asked yet.
    pub fn question(&mut self, ends: &RequestHandles) -> Option<String> {
        let open = ends.approvals.open();
        let Some(first) = open.iter().find(|request| ends.is_shown(&request.approval_id)) else {
            return self.forms.question(&ends.questions, |id| ends.is_shown(id));
        };
        if self.asked.contains(&first.approval_id) {
            return None;
        }
        self.asked.push(first.approval_id.clone());
        let why = if first.reason == ApprovalReason::OutsideText { AGAIN } else { "" };
        Some(format!("{}: {why}{QUESTION}", first.tool_name))
    }

    /// Asks, and reads the answer from the terminal; returns the text to show. What is typed while there is
    /// no question stays in the terminal.
    pub fn listen(&mut self, ends: &RequestHandles, typed: &mut TypedLines) -> Vec<String> {
        let mut shown: Vec<_> = self.question(ends).into_iter().collect();
        while self.is_open(ends)
            && let Some(line) = typed.take()
        {
            if line.is_empty() {
                self.leave(ends);
                break;
            }
            shown.extend(self.answer(&String::from_utf8_lossy(&line), ends));
        }
        shown
    }

    /// Rejects what is open: the input has ended, and no answer can come.
    pub fn leave(&self, ends: &RequestHandles) {
        for request in ends.approvals.open() {
            // One that was answered meanwhile needs no rejection.
            let left = Decision::unanswered("the user has left");
            let _late = ends.approvals.answer(&request.approval_id, left);
        }
        self.forms.leave(&ends.questions);
    }

    /// Returns `true` while a question has no answer.
    #[must_use]
    pub fn is_open(&self, ends: &RequestHandles) -> bool {
        self.is_asked(ends) || self.forms.is_open(&ends.questions)
    }

    /// Returns `true` while a request for approval that was asked about has no answer.
    fn is_asked(&self, ends: &RequestHandles) -> bool {
        ends.approvals.open().iter().any(|request| self.asked.contains(&request.approval_id))
    }

    /// Answers the question with a line, if it says something; returns the text to show. A rejection shows
    /// itself.
    pub fn answer(&mut self, line: &str, ends: &RequestHandles) -> Option<String> {
        if !self.is_asked(ends) {
            let is_open = self.forms.is_open(&ends.questions);
            return is_open.then(|| self.forms.answer(line, &ends.questions))?;
        }
        let open = ends.approvals.open();
        let request = open.iter().find(|request| self.asked.contains(&request.approval_id))?;
        let decision = decision(line)?;
        let said = match &decision {
            Decision::Grant => Some("(allowed)"),
            Decision::GrantAlways => Some("(allowed from now on)"),
            Decision::GrantChanged { .. }
            | Decision::Reject { .. }
            | Decision::Unanswered { .. }
            | _ => None,
        };
        let is_taken = ends.approvals.answer(&request.approval_id, decision).is_ok();
        if is_taken { said } else { Some("(too late)") }.map(str::to_owned)
    }
}

fn decision(line: &str) -> Option<Decision> {
    let line = line.trim();
    Some(match line.to_ascii_lowercase().as_str() {
        "" => return None,
        "y" | "yes" => Decision::Grant,
        "a" | "always" => Decision::GrantAlways,
        "n" | "no" => Decision::reject(""),
        _ => Decision::reject(line),
    })
}

#[cfg(test)]
mod tests {
    use forgeline::{
        agent::{Agent, approval::ApprovalPolicy, tools::Calculator},
        testing::{ScriptedProvider, ScriptedTurn},
        types::AgentEvent,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn approval_answer_is_parsed_from_a_line() {
        #[rustfmt::skip]
        let rows = [
            ("y", Some(Decision::Grant)),
            (" YES ", Some(Decision::Grant)),
            ("a", Some(Decision::GrantAlways)),
            ("No", Some(Decision::reject(""))),
            ("Use notes.md", Some(Decision::reject("Use notes.md"))),
            ("  ", None),
        ];
        for (line, want) in rows {
            assert_eq!(decision(line), want, "{line:?}");
        }
    }

    #[test]
    fn approve_flag_is_a_word_or_a_list_of_tools() {
        let parse = |text: &str| text.parse::<ApprovalMode>().unwrap();
        assert_eq!((parse("never"), parse("ask")), (ApprovalMode::Never, ApprovalMode::Ask));
        assert_eq!(parse("a, b"), ApprovalMode::Tools(vec!["a".into(), "b".into()]));
    }

    #[tokio::test]
    async fn each_request_is_asked_about_once_and_answered() {
        let call = || ScriptedTurn::new().call("calculator", json!({ "expression": "1 + 1" }));
        let turns = [call(), call(), ScriptedTurn::new().text("Done.")];
        let builder = Agent::builder(ScriptedProvider::new(turns)).tool(Calculator);
        let agent = builder.approval(ApprovalPolicy::Always).build().unwrap();
        let mut stream = agent.run_stream("Go.");
        let (mut ends, mut asking) = (RequestHandles::for_stream(&stream), UserPrompter::default());
        let mut lines = ["y", "rather not"].into_iter();
        let mut said = Vec::new();
        while let Some(envelope) = stream.next().await {
            if !matches!(envelope.event, AgentEvent::ToolApprovalRequest(_)) {
                continue;
            }
            assert_eq!(asking.question(&ends), None, "it is open, and not on the screen yet");
            assert!(!asking.is_open(&ends));
            ends.has_shown(&envelope.event);
            assert!(asking.question(&ends).unwrap().starts_with("calculator: Allow it?"));
            assert_eq!(asking.question(&ends), None, "once");
            assert!(asking.is_open(&ends));
            assert_eq!(asking.answer(" ", &ends), None);
            said.extend(asking.answer(lines.next().unwrap(), &ends));
        }
        assert_eq!(said, ["(allowed)"]);
        assert_eq!(asking.answer("y", &ends), None, "there is no question");
    }
}
