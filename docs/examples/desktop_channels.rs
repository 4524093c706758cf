#![expect(clippy::print_stdout, clippy::wildcard_enum_match_arm, reason = "an example")]
//! An agent behind a desktop window, by channels: what the user does goes in, events come out, and neither side waits for the other. What is typed
//! while the agent works steers it.

use std::{error::Error, io, thread};

use forgeline::{agent::channels::Input, llm::anthropic::Anthropic, prelude::*};
use tokio::sync::mpsc;

/// What the user does in the window.
#[derive(Debug)]
enum Action {
    /// Types a message. While the agent works, it is read after the calls in progress.
    Say(String),
    /// Answers whether the calls that wait for it may run.
    Allow(bool),
    /// Presses the stop button.
    Stop,
}

fn assistant(provider: impl Provider + 'static) -> Result<Agent, BuildError> {
    Agent::builder(provider).tool(Calculator).approval(ApprovalPolicy::Always).build()
}

/// Serves a window until its sender of actions is dropped; `show` gets what is to be seen.
async fn serve(
    agent: &Agent,
    mut actions: mpsc::Receiver<Action>,
    mut show: impl FnMut(AgentEvent) + Send + 'static,
) -> Result<(), Box<dyn Error>> {
    let (handle, AgentChannels { input, mut events, approval, cancel, .. }) = agent.start();
    let showing = tokio::spawn(async move {
        while let Some(envelope) = events.recv().await {
            show(envelope.event);
        }
    });
    while let Some(action) = actions.recv().await {
        match action {
            Action::Say(text) => input.send(Input::steer(text)).await?,
            Action::Allow(is_allowed) => {
                for asked in approval.open() {
                    let no = || Decision::reject("the user says no");
                    let decision = if is_allowed { Decision::Grant } else { no() };
                    approval.answer(&asked.approval_id, decision)?;
                }
            }
            Action::Stop => cancel.send()?,
        }
    }
    handle.shutdown().await;
    Ok(showing.await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (sender, actions) = mpsc::channel(16);
    // The window has a thread of its own, and no runtime.
    thread::spawn(move || {
        io::stdin().lines().map_while(Result::ok).try_for_each(|line| {
            sender.blocking_send(match line.as_str() {
                "y" | "n" => Action::Allow(line == "y"),
                "stop" => Action::Stop,
                _ => Action::Say(line),
            })
        })
    });
    let show = |event| match event {
        AgentEvent::ToolApprovalRequest(asked) => {
            println!("May {} run with {}? y or n", asked.tool_name, asked.arguments);
        }
        AgentEvent::TurnEnd => println!(),
        event => print!("{}", event.text()),
    };
    serve(&assistant(Anthropic::from_env()?)?, actions, show).await
}

#[cfg(test)]
mod tests {
    use forgeline::{
        llm::Request,
        testing::{ScriptedProvider, ScriptedTurn},
        types::{ErrorCode, ErrorEvent, MessageRole},
    };
    use serde_json::json;

    use super::*;

    /// Calculates, and says the result; in words once the user has asked for that.
    fn model() -> ScriptedProvider {
        ScriptedProvider::from_fn(|request: &Request| {
            let mut users = request.messages.iter().filter(|it| it.role == MessageRole::User);
            if users.any(|it| it.text() == "In words.") {
                return ScriptedTurn::new().text("forty-two");
            }
            match request.messages.iter().flat_map(|it| it.tool_results()).last() {
                Some(result) => ScriptedTurn::new().text(result.content.as_str()),
                None => ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" })),
            }
        })
    }

    /// Serves a window whose user acts on what is shown; the window is closed when `react` returns `None`.
    async fn used(
        provider: ScriptedProvider,
        mut react: impl FnMut(&AgentEvent) -> Option<Vec<Action>> + Send + 'static,
    ) {
        let (sender, actions) = mpsc::channel(16);
        sender.send(Action::Say("What is 6 * 7?".to_owned())).await.unwrap();
        let mut sender = Some(sender);
        let show = move |event| match react(&event) {
            Some(actions) => actions.into_iter().for_each(|action| {
                if let Some(sender) = &sender {
                    sender.try_send(action).unwrap();
                }
            }),
            None => drop(sender.take()),
        };
        serve(&assistant(provider).unwrap(), actions, show).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_said_while_it_works_steers_it() {
        let model = model();
        used(model.clone(), |event| match event {
            AgentEvent::ToolApprovalRequest(_) => {
                Some(vec![Action::Say("In words.".to_owned()), Action::Allow(true)])
            }
            event => (event.text() != "forty-two").then(Vec::new),
        })
        .await;
        let requests = model.requests();
        let texts: Vec<_> = requests.last().unwrap().messages.iter().map(|it| it.text()).collect();
        assert_eq!(texts.first().map(String::as_str), Some("What is 6 * 7?"));
        assert_eq!(texts.last().map(String::as_str), Some("In words."));
        assert!(requests.last().unwrap().messages.iter().any(|it| it.tool_results().count() == 1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_stop_button_ends_the_run_and_the_window_lives_on() {
        let mut turns = vec![ScriptedTurn::new().text("Let me think").hang()];
        turns.push(ScriptedTurn::new().text("Yes?"));
        let mut stopped = false;
        used(ScriptedProvider::new(turns), move |event| match event {
            AgentEvent::Error(ErrorEvent { error, .. }) => {
                assert_eq!(error.code, ErrorCode::Cancelled);
                stopped = true;
                Some(vec![Action::Say("Are you there?".to_owned())])
            }
            event if event.text() == "Let me think" => Some(vec![Action::Stop]),
            event => {
                assert!(stopped || event.text().is_empty());
                (event.text() != "Yes?").then(Vec::new)
            }
        })
        .await;
    }
}
