//! Reasoning that a model wrote into its text goes back by policy.

use std::sync::Arc;

use super::*;
use crate::config::{CallMode, KeepThinking};
use forgeline_llm::{ChunkStream, Provider, ProviderFuture, Request};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{MessageRole, ModelInfo, Part, Transcript};

/// A provider whose reasoning without a signature was read in this dialect.
struct Reads(ScriptedProvider, ModelInfo, ThinkingDialect);

impl Provider for Reads {
    fn info(&self) -> &ModelInfo {
        &self.1
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        self.0.stream_completion(request)
    }

    fn written_thinking(&self) -> Option<ThinkingDialect> {
        Some(self.2.clone())
    }
}

/// Runs twice, with a call in the first run, and returns the histories of the three requests.
async fn histories(
    model: &str,
    dialect: ThinkingDialect,
    mode: CallMode,
    policy: KeepThinking,
) -> Vec<Transcript> {
    let first = ScriptedTurn::new().thinking("Say it.").text("Let me see.");
    let first = match mode {
        CallMode::Native => first.call("echo", json!({ "text": "one" })),
        _ => first.text("<tool>{\"tool_name\":\"echo\",\"arguments\":{\"text\":\"one\"}}</tool>"),
    };
    let second = ScriptedTurn::new().thinking("It is said.").text("Done.");
    let script = ScriptedProvider::new([first, second, ScriptedTurn::new().text("Bye.")]);
    let provider = Reads(script.clone(), ModelInfo::new("test", model), dialect);
    let echo = tool_fn("echo", "Says it again.", |_: ToolContext, echo: Echo| async { echo.text });
    let builder = Agent::builder(provider).tool(echo).keep_thinking(policy);
    let builder = builder.call_mode(mode).tool_dialect(forgeline_parser::ToolDialect::FORGE);
    let agent = builder.build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    agent.run("And?").await.unwrap();
    let thought = agent.transcript().iter().flat_map(|message| message.parts.clone()).collect();
    let thought: Vec<Part> = thought;
    let thought: Vec<_> = thought.iter().filter_map(Part::as_thinking).collect();
    assert_eq!(thought, ["Say it.", "It is said."], "the conversation has it as thinking");
    script.requests().into_iter().map(|request| request.messages).collect()
}

/// The texts of the answers in a history, up to a call.
fn answers(history: &Transcript) -> Vec<String> {
    let answers = history.iter().filter(|message| message.role == MessageRole::Assistant);
    let text = |text: String| text.split("<tool>").next().unwrap_or_default().to_owned();
    answers.map(|message| text(message.text())).collect()
}

// Covers: H-14, A5
#[tokio::test]
async fn reasoning_in_the_text_goes_back_by_policy_in_both_modes() {
    let thought = |text: &str, answer: &str| format!("<think>\n{text}\n</think>\n\n{answer}");
    let (one, two) = (thought("Say it.", "Let me see."), thought("It is said.", "Done."));
    #[rustfmt::skip]
    let cases = [
        (KeepThinking::WithCalls, [one.as_str(), "Done."]),
        (KeepThinking::Always,    [one.as_str(), two.as_str()]),
        (KeepThinking::Never,     ["Let me see.", "Done."]),
    ];
    for (policy, want) in cases {
        for mode in [CallMode::Native, CallMode::Text] {
            let histories = histories("", ThinkingDialect::AUTO, mode, policy).await;
            assert_eq!(answers(&histories[2]), want, "{policy:?}, {mode:?}");
            assert_eq!(answers(&histories[1]), want[..1], "{policy:?}, {mode:?}");
            for (earlier, later) in histories.iter().zip(&histories[1..]) {
                for (one, other) in earlier.iter().zip(later.iter()) {
                    assert!(Arc::ptr_eq(one, other), "{policy:?}, {mode:?}: what was sent stays");
                }
            }
        }
    }
}

#[tokio::test]
async fn reasoning_goes_back_in_the_models_own_markers() {
    let plan = ThinkingDialect::tags(&["plan"]);
    #[rustfmt::skip]
    let cases = [
        ("",          plan,                     "<plan>\nSay it.\n</plan>\n\nLet me see."),
        ("kimi-k1.5", ThinkingDialect::AUTO,    "◁think▷\nSay it.\n◁/think▷\n\nLet me see."),
        ("kimi-k1.5", ThinkingDialect::FORGE,   "<thinking>\nSay it.\n</thinking>\n\nLet me see."),
        ("qwen2.5:7b", ThinkingDialect::AUTO,   "<think>\nSay it.\n</think>\n\nLet me see."),
        ("",          ThinkingDialect::NONE,    "Let me see."),
    ];
    for (model, dialect, want) in cases {
        let histories = histories(model, dialect, CallMode::Native, KeepThinking::WithCalls).await;
        assert_eq!(answers(&histories[1]), [want], "{model}");
    }
}

// Rows: N-26
#[tokio::test]
async fn analysis_of_harmony_stays_beside_its_call_for_the_provider_and_by_policy() {
    for (policy, want) in [
        (KeepThinking::WithCalls, vec!["Say it.", "It is said."]),
        (KeepThinking::Always, vec!["Say it.", "It is said."]),
        (KeepThinking::Never, vec![]),
    ] {
        let dialect = ThinkingDialect::AUTO;
        let histories = histories("gpt-oss-20b", dialect, CallMode::Native, policy).await;
        assert_eq!(answers(&histories[2]), ["Let me see.", "Done."], "{policy:?}");
        let parts = histories[2].iter().flat_map(|message| &message.parts);
        assert_eq!(parts.filter_map(Part::as_thinking).collect::<Vec<_>>(), want, "{policy:?}");
        assert!(Arc::ptr_eq(&histories[1].messages()[1], &histories[2].messages()[1]));
    }
}

#[tokio::test]
async fn reasoning_stays_the_providers_where_it_has_a_place_of_its_own() {
    let turn = ScriptedTurn::new().thinking("Say it.").call("echo", json!({ "text": "one" }));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
    let agent =
        builder(&provider).keep_thinking(KeepThinking::Always).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let requests = provider.requests();
    let answer = &requests[1].messages.messages()[1];
    assert_eq!((answer.text().as_str(), answer.parts[0].as_thinking()), ("", Some("Say it.")));
}

// Rows: N-26
#[tokio::test]
async fn reasoning_that_was_told_as_the_answer_does_not_run_into_it_whatever_the_policy() {
    for policy in [KeepThinking::WithCalls, KeepThinking::Always, KeepThinking::Never] {
        for answer in
            ["plan</think>Look.", "\nplan\n</think>\n\nLook.", "a</think>b<think>c</think>d"]
        {
            let turns = [answer, "So."].map(|text| ScriptedTurn::new().text(text));
            let script = ScriptedProvider::new(turns);
            let provider = Reads(script.clone(), ModelInfo::new("test", ""), ThinkingDialect::AUTO);
            let agent = Agent::builder(provider).keep_thinking(policy);
            let agent = agent.call_mode(CallMode::Text).build().unwrap().conversation();
            agent.run("Go.").await.unwrap();
            agent.run("And?").await.unwrap();
            let requests = script.requests();
            let texts: Vec<_> = answers(&requests[1].messages);
            let is_kept = policy == KeepThinking::Always;
            let want =
                if is_kept { answer.to_owned() } else { answer.replace("<think>c</think>", "") };
            assert_eq!(texts, [want], "{policy:?}");
        }
    }
}

// Rows: N-26
#[tokio::test]
async fn tagged_reasoning_goes_back_as_written_in_text_mode_and_by_policy() {
    let call = "<tool>{\"tool_name\":\"echo\",\"arguments\":{\"text\":\"one\"}}</tool>";
    let answer = format!("<think>plan</think>Look. {call}");
    let end = "<think>done</think>Bye.";
    #[rustfmt::skip]
    let cases = [
        (KeepThinking::WithCalls, [answer.as_str(), "Bye."]),
        (KeepThinking::Always,    [answer.as_str(), end]),
        (KeepThinking::Never,     [answer.trim_start_matches("<think>plan</think>"), "Bye."]),
    ];
    for (policy, want) in cases {
        let turns = [answer.as_str(), end, "So."].map(|text| ScriptedTurn::new().text(text));
        let script = ScriptedProvider::new(turns);
        let info = ModelInfo::new("test", "");
        let provider = Reads(script.clone(), info, ThinkingDialect::AUTO);
        let echo =
            tool_fn("echo", "Says it again.", |_: ToolContext, echo: Echo| async { echo.text });
        let builder = Agent::builder(provider).tool(echo).keep_thinking(policy);
        let builder = builder.call_mode(CallMode::Text);
        let agent = builder
            .tool_dialect(forgeline_parser::ToolDialect::FORGE)
            .build()
            .unwrap()
            .conversation();
        agent.run("Go.").await.unwrap();
        agent.run("And?").await.unwrap();
        let requests = script.requests();
        let messages = requests[2].messages.iter();
        let answers = messages.filter(|message| message.role == MessageRole::Assistant);
        let parts: Vec<_> = answers
            .map(|message| message.parts.iter().filter_map(Part::as_text).collect::<Vec<_>>())
            .collect();
        assert_eq!(parts, want.map(|text| vec![text]), "{policy:?}");
    }
}
