//! The loop: whole conversations and their whole event sequences.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;

use super::*;
use crate::Conversation;
use crate::{
    BuildError, OutcomeKind,
    config::{AtLimit, CallMode, NoToolCall},
    tools::RegistryError,
};
use forgeline_llm::{ProviderError, Request, StreamChunk, ToolCallDelta, ToolChoice};
use forgeline_types::{
    ErrorCode, FinishReason,
    MessageRole::{self, Assistant, Tool, User},
    UsageInfo,
};

async fn events(agent: &Conversation, input: &str) -> Vec<String> {
    let mut stream = agent.run_stream(input);
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    assert_whole(&events);
    kinds(&events)
}

fn last_results(provider: &ScriptedProvider) -> Vec<String> {
    let requests = provider.requests();
    let last = requests.last().unwrap().messages.last().unwrap().clone();
    last.tool_results().map(|result| result.content.clone()).collect()
}

// Covers: T-07, T-15, T-16
#[tokio::test(start_paused = true)]
async fn a_conversation_has_exactly_these_events() {
    let provider = rich_script();
    let got = events(&agent(&provider), "Do it.").await;
    #[rustfmt::skip]
    let want = [
        "busy true",
        "api_call_start",
        "thinking_start", "thinking Hm, ", "thinking well.", "thinking_end",
        "message_start", "message Let me ", "message see.", "message_end",
        "tool_call_start", "tool_call_content", "tool_call_content", "tool_call_end",
        "tool_call_start", "tool_call_content", "tool_call_content", "tool_call_end",
        "api_call_end",
        "call echo {\"text\":\"one\"}", "call echo {\"text\":\"two\"}",
        "progress \"one\"", "progress \"two\"", "result one", "result two",
        "api_call_start",
        "tool_call_start", "tool_call_content", "tool_call_content", "tool_call_end",
        "tool_call_start", "tool_call_content", "tool_call_content", "tool_call_end",
        "api_call_end",
        "call fail {\"text\":\"way\"}",
        "failure The arguments are not valid: `text` is missing. Correct them and call again.",
        "failure The tool `fail` failed: no way",
        "api_call_start",
        "thinking_start", "thinking So.", "thinking_end",
        "message_start", "message It is ", "message done.", "message_end",
        "api_call_end",
        "turn_end",
        "busy false",
    ];
    assert_eq!(got, want);
}

// Covers: T-07, E-34
#[tokio::test(start_paused = true)]
async fn the_outcome_and_the_history_tell_what_happened() {
    let provider = rich_script();
    let agent = agent(&provider);
    let outcome = agent.run("Do it.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("It is done.", 3));
    assert_eq!(outcome.reason, OutcomeKind::Answer);
    let roles: Vec<_> = outcome.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [User, Assistant, Tool, Assistant, Tool, Assistant]);
    assert_eq!(outcome.messages[1].text(), "Let me see.");
    let results: Vec<_> =
        outcome.messages[2].tool_results().map(|one| one.content.as_str()).collect();
    assert_eq!(results, ["one", "two"], "in call order");
    assert_eq!(agent.transcript().len(), 6);
    let tools: Vec<_> = provider.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(tools.len(), 9, "six and the loop-breaking three");
    assert_eq!(provider.requests()[0].system, None, "native mode describes no tools");
}

// Covers: E-33
#[tokio::test(start_paused = true)]
async fn a_loop_breaking_call_ends_the_run_and_later_calls_do_not_run() {
    #[rustfmt::skip]
    let cases = [
        ("task_completion", json!({ "result": "All done." }),
            OutcomeKind::TaskCompleted { result: "All done.".into() }),
        ("ask_question", json!({ "question": "Which?", "suggestions": ["a"] }),
            OutcomeKind::QuestionAsked { question: "Which?".into(), suggestions: vec!["a".into()] }),
        ("converse", json!({ "message": "Hi." }), OutcomeKind::Conversed { message: "Hi.".into() }),
    ];
    for (name, arguments, want) in cases {
        let turn = ScriptedTurn::new()
            .call("echo", json!({ "text": "before" }))
            .call(name, arguments)
            .call("echo", json!({ "text": "after" }));
        let provider = ScriptedProvider::new([turn]);
        let outcome = agent(&provider).run("Go.").await.unwrap();
        assert_eq!(outcome.reason, want);
        assert_eq!(Some(outcome.text.as_str()), want.text());
        let reported: Vec<_> =
            outcome.messages[2].tool_results().map(|one| one.content.clone()).collect();
        let skipped = format!("This call was not run, because `{name}` before it ended the run.");
        assert_eq!(reported, ["before", want.text().unwrap(), &skipped]);
    }
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().call("converse", json!({})).call("echo", json!({ "text": "x" })),
        ScriptedTurn::new().text("ok"),
    ]);
    let outcome = agent(&provider).run("Go.").await.unwrap();
    assert_eq!(outcome.text, "ok", "a loop-breaking call that fails breaks nothing");
    assert_eq!(last_results(&provider)[1], "x");
}

// Found: A7
// Covers: G-36
#[tokio::test(start_paused = true)]
async fn loop_breaking_tools_are_off_by_default_but_their_names_stay_theirs() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("ok")]);
    Agent::builder(provider.clone()).build().unwrap().conversation().run("Go.").await.unwrap();
    assert!(provider.requests()[0].tools.is_empty(), "an agent has the tools that it was given");
    let taken = tool_fn("converse", "", |_: ToolContext, _: Nothing| async { "" });
    let error = builder(&provider).loop_breaking_tools(false).tool(taken).build().unwrap_err();
    assert_eq!(error, BuildError::Tool(RegistryError::Reserved { name: "converse".into() }));
    let error = builder(&provider).max_turns(0).build().unwrap_err();
    assert_eq!(error, BuildError::Zero { option: "max_turns" });
}

// Found: F6
#[test]
fn an_agent_that_cannot_be_built_says_which_tool_and_why() {
    #[rustfmt::skip]
    let cases = [
        ("converse",  "the tool name `converse` is reserved; choose another"),
        ("echo",      "the tool name `echo` is taken; give each tool a unique name"),
        ("two words", "the tool name `two words` is not valid; use letters, digits, `_` and `-`"),
    ];
    for (name, want) in cases {
        let tool = tool_fn(name, "", |_: ToolContext, _: Nothing| async { "" });
        let error = builder(&ScriptedProvider::new([])).tool(tool).build().unwrap_err();
        assert!(error.to_string().starts_with(want), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_run_are_explained_to_the_model() {
    let chunk = |text: &str| {
        let delta = ToolCallDelta::new(0).id("call-0").name("echo").arguments(text);
        ScriptedTurn::new().chunk(StreamChunk::calls(vec![delta]))
    };
    #[rustfmt::skip]
    let cases = [
        ("unknown tool", ScriptedTurn::new().call("ekko", json!({})),
            "There is no tool `ekko`. Call one of these: echo, fail, flaky, panic, wait, hang, \
             task_completion, ask_question, converse."),
        ("wrong type", ScriptedTurn::new().call("echo", json!({ "text": 1 })),
            "The arguments are not valid: `text` must be of type string, not number. Correct them \
            and call again."),
        ("cut off", chunk("{\"text\": \"on").finish(FinishReason::Length),
            "Your answer was cut off after 12 bytes of this call, so it was not run. Make the call \
             again with less text, or split the work into several calls."),
        ("panic", ScriptedTurn::new().call("panic", json!({})),
            "The tool `panic` failed: the tool panicked: at the disco"),
    ];
    for (name, turn, want) in cases {
        let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("I see.")]);
        let outcome = agent(&provider).run("Go.").await.unwrap();
        assert_eq!(outcome.text, "I see.", "{name}");
        assert_eq!(last_results(&provider), [want], "{name}");
    }
}

/// G-32.
// Covers: G-32, T-45
#[tokio::test(start_paused = true)]
async fn g_32_panicking_tool_is_a_failed_result_and_the_run_continues() {
    let turn = ScriptedTurn::new().call("panic", json!({})).call("echo", json!({ "text": "x" }));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Well.")]);
    assert_eq!(agent(&provider).run("Go.").await.unwrap().text, "Well.");
    assert_eq!(last_results(&provider)[1], "x");
}

/// G-40: the breaker counts kinds; neither varying texts nor taking turns defeats it.
// Covers: G-40
#[tokio::test(start_paused = true)]
async fn g_40_the_breaker_counts_kinds_not_texts() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let provider = ScriptedProvider::from_fn(move |_| {
        let n = counter.fetch_add(1, Ordering::SeqCst);
        ScriptedTurn::new().call(["fail", "flaky"][n % 2], json!({ "text": format!("{n}") }))
    });
    let agent = builder(&provider).max_turns(100).build().unwrap().conversation();
    let error = agent.run("Go.").await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::CircuitBreaker);
    assert_eq!(count.load(Ordering::SeqCst), 9, "the fifth `fail`");
    let last = error.outcome.messages.last().unwrap();
    assert_eq!(last.role, MessageRole::Tool, "every call has its result");
}

/// G-42: the breaker starts anew with each input, and after a success.
// Covers: G-36, G-42
#[tokio::test(start_paused = true)]
async fn g_42_the_breaker_is_reset() {
    let failing = || ScriptedTurn::new().call("flaky", json!({}));
    let answer = || ScriptedTurn::new().text("ok");
    let provider = ScriptedProvider::new([failing(), answer(), failing(), answer()]);
    let agent = builder(&provider).breaker_failures(2).build().unwrap().conversation();
    for _ in 0..2 {
        assert_eq!(agent.run("Go.").await.unwrap().turns, 2);
    }
}

/// Calls that run alone are batches of their own: none begins once the breaker has fired.
// Found: S14
#[tokio::test(start_paused = true)]
async fn no_batch_begins_after_the_breaker() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let tool = tool_fn("once", "", move |_: ToolContext, _: Nothing| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Err::<String, _>(ToolError::transient("not now")))
    });
    let calls = (0..3).fold(ScriptedTurn::new(), |turn, _| turn.call("once", json!({})));
    let provider = ScriptedProvider::new([calls]);
    let builder = Agent::builder(provider).tool(tool.alone()).breaker_failures(2);
    let error = builder.build().unwrap().conversation().run("Go.").await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::CircuitBreaker);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let results: Vec<_> = error.outcome.messages.last().unwrap().tool_results().collect();
    let want = "This call was not run: the run ended first.";
    assert_eq!((results.len(), results[2].content.as_str()), (3, want));
}

#[tokio::test(start_paused = true)]
async fn the_loop_guard_does_not_run_what_has_just_failed() {
    let failing = |text: &str| ScriptedTurn::new().call("fail", json!({ "text": text }));
    let provider = ScriptedProvider::new([
        failing("a"),
        failing("b"),
        failing("a"),
        ScriptedTurn::new().call("echo", json!({ "text": "x" })),
        failing("a"),
        ScriptedTurn::new().text("ok"),
    ]);
    let got = events(&agent(&provider), "Go.").await;
    let failures: Vec<_> =
        got.iter().filter(|one| one.starts_with("failure") || one.starts_with("call")).collect();
    #[rustfmt::skip]
    let want = [
        "call fail {\"text\":\"a\"}", "failure The tool `fail` failed: no a",
        "call fail {\"text\":\"b\"}", "failure The tool `fail` failed: no b",
        "failure This call of `fail` with the same arguments has just failed and would fail again, \
         so it was not run. Change the arguments or try another way.",
        "call echo {\"text\":\"x\"}",
        "call fail {\"text\":\"a\"}", "failure The tool `fail` failed: no a",
    ];
    assert_eq!(failures, want.iter().collect::<Vec<_>>());
}

// Covers: T-04, E-31, E-33, G-36, H-27
#[tokio::test(start_paused = true)]
async fn at_the_limit_of_turns_the_answer_is_asked_for_or_the_run_fails() {
    let calling = || ScriptedTurn::new().call("echo", json!({ "text": "x" }));
    let turns = || [calling(), calling(), ScriptedTurn::new().text("So far.")];
    let provider = ScriptedProvider::new(turns());
    let agent = builder(&provider).max_turns(2).build().unwrap().conversation();
    let outcome = agent.run("Go.").await.unwrap();
    assert_eq!(
        (outcome.reason, outcome.text.as_str()),
        (OutcomeKind::LimitReached { limit: crate::run::Limit::Turns }, "So far.")
    );
    assert_eq!(provider.requests()[2].tool_choice, Some(ToolChoice::None));
    assert_eq!(provider.requests()[2].messages.last().unwrap().role, MessageRole::User);

    let provider = ScriptedProvider::new(turns());
    let agent =
        builder(&provider).max_turns(2).at_limit(AtLimit::Fail).build().unwrap().conversation();
    let error = agent.run("Go.").await.unwrap_err();
    assert_eq!(error.error.code, ErrorCode::MaxTurns);
    assert_eq!(provider.requests().len(), 2);
}

/// G-43: a plain answer costs one call.
// Covers: G-36, G-43, H-26
#[tokio::test(start_paused = true)]
async fn g_43_a_plain_answer_is_final_unless_the_policy_nudges() {
    let plain = || ScriptedTurn::new().text("Hello.");
    let provider = ScriptedProvider::new([plain(), plain(), plain()]);
    assert_eq!(agent(&provider).run("Hi").await.unwrap().turns, 1);

    let provider = ScriptedProvider::new([plain(), plain(), plain()]);
    let agent =
        builder(&provider).no_tool_call(NoToolCall::Nudge(2)).build().unwrap().conversation();
    let got = events(&agent, "Hi").await;
    assert_eq!(got.iter().filter(|kind| *kind == "no_tool_call").count(), 2);
    assert_eq!(provider.requests().len(), 3);
    let nudge = provider.requests()[1].messages.last().unwrap().text();
    assert!(nudge.starts_with("Your answer called no tool."), "{nudge}");
}

/// A call in a code block is pointed out, whether or not the agent has tools.
#[tokio::test(start_paused = true)]
async fn a_call_in_a_code_block_is_pointed_out_without_a_tool_too() {
    let fenced = "```\n<tool>{\"tool_name\":\"echo\",\"arguments\":{}}</tool>\n```";
    for (answer, requests) in [(fenced, 2), ("Hello.", 1)] {
        let provider =
            ScriptedProvider::new([answer, "Bye."].map(|it| ScriptedTurn::new().text(it)));
        let agent = Agent::builder(provider.clone()).no_tool_call(NoToolCall::Nudge(1));
        let agent = agent.tool_dialect(forgeline_parser::ToolDialect::FORGE);
        agent.call_mode(CallMode::Text).build().unwrap().conversation().run("Hi").await.unwrap();
        assert_eq!(provider.requests().len(), requests, "{answer}");
    }
}

/// A call resets the count of nudges.
// Found: S17
#[tokio::test(start_paused = true)]
async fn nudges_are_counted_anew_after_a_call() {
    let plain = || ScriptedTurn::new().text("Hello.");
    let call = ScriptedTurn::new().call("echo", json!({ "text": "x" }));
    let provider = ScriptedProvider::new([plain(), call, plain(), plain()]);
    let agent =
        builder(&provider).no_tool_call(NoToolCall::Nudge(1)).build().unwrap().conversation();
    let got = events(&agent, "Hi").await;
    assert_eq!(got.iter().filter(|kind| *kind == "no_tool_call").count(), 2);
    assert_eq!(provider.requests().len(), 4);
}

/// G-44: the text before the conversation is the same in every run.
// Covers: E-27, G-44
#[tokio::test(start_paused = true)]
async fn g_44_the_prompt_is_stable() {
    let turns = || [ScriptedTurn::new().text("a"), ScriptedTurn::new().text("b")];
    let mut seen = Vec::new();
    for _ in 0..2 {
        let provider = ScriptedProvider::new(turns());
        let agent = builder(&provider)
            .system("Be brief.")
            .call_mode(CallMode::Text)
            .build()
            .unwrap()
            .conversation();
        agent.run("1").await.unwrap();
        agent.run("2").await.unwrap();
        seen.extend(provider.requests().into_iter().map(|request| request.system.unwrap()));
    }
    assert!(seen.iter().all(|system| system == &seen[0]));
    assert!(seen[0].starts_with("Be brief.\n\n# Tools\n"), "{}", seen[0]);
}

/// G-17: partial text is kept, one typed error, no empty assistant message.
// Covers: T-13, T-19, E-33
#[tokio::test(start_paused = true)]
async fn g_17_a_provider_error_keeps_the_partial_text() {
    let broken = || ProviderError::ended_early(7);
    #[rustfmt::skip]
    let cases = [
        ("after text",  ScriptedTurn::new().text("Half an").fail(broken()), "Half an", 2),
        ("before text", ScriptedTurn::new().fail(broken()),                 "",        1),
    ];
    for (name, turn, text, messages) in cases {
        let agent = agent(&ScriptedProvider::new([turn]));
        let mut stream = agent.run_stream("Hi");
        let mut events = Vec::new();
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
        }
        assert_whole(&events);
        let errors = kinds(&events).into_iter().filter(|kind| kind.starts_with("error"));
        assert_eq!(errors.collect::<Vec<_>>(), ["error EndedEarly"], "{name}");
        let error = stream.outcome().await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::EndedEarly, "{name}");
        assert_eq!(error.outcome.text, text, "{name}");
        assert_eq!(agent.transcript().len(), messages, "{name}");
    }
}

// Covers: T-19, H-28
#[tokio::test(start_paused = true)]
async fn a_request_that_fails_at_once_is_an_error_event_too() {
    let agent = agent(&ScriptedProvider::new([]));
    assert_eq!(
        events(&agent, "Hi").await,
        [
            "busy true",
            "api_call_start",
            "error InvalidRequest",
            "api_call_end",
            "turn_end",
            "busy false"
        ]
    );
}

// Covers: G-36
#[tokio::test(start_paused = true)]
async fn a_result_over_the_budget_is_withheld() {
    let big = "é".repeat(50);
    let provider = ScriptedProvider::new([
        ScriptedTurn::new()
            .call("echo", json!({ "text": big }))
            .call("echo", json!({ "text": "é".repeat(49) })),
        ScriptedTurn::new().text("ok"),
    ]);
    let agent = builder(&provider).max_result_chars(49).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let reported = last_results(&provider);
    assert!(reported[0].starts_with(
        r#"{"toolResultElided":true,"tool":"echo","resultChars":50,"budgetChars":49,"#
    ));
    assert_eq!(reported[1].chars().count(), 49, "the bound is inclusive");
}

// Found: R6
#[tokio::test(start_paused = true)]
async fn long_tool_error_keeps_its_beginning_and_end() {
    let text = format!("first é {} last", "é".repeat(1 << 20));
    let names = |name: String| ScriptedTurn::new().call(name.as_str(), json!({}));
    let unknown: String = "é".repeat(1 << 20);
    let argument = json!({ unknown.clone(): 1 });
    let cases = [
        (
            ScriptedTurn::new().call("fail", json!({ "text": text })),
            "The tool `fail` failed: no first",
            "last",
        ),
        (names(unknown), "This call could not be read", "JSON."),
        (ScriptedTurn::new().call("echo", argument), "The arguments are not valid: ", "again."),
    ];
    for (turn, begins, ends) in cases {
        let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("ok")]);
        agent(&provider).run("Go.").await.unwrap();
        let reported = last_results(&provider).remove(0);
        assert!(
            reported.starts_with(begins) && reported.ends_with(ends),
            "{begins}: {reported:.90}"
        );
        assert!(reported.len() < 17 << 10, "{begins}: {}", reported.len());
    }
}

// Covers: T-03, G-36
#[tokio::test(start_paused = true)]
async fn calls_run_beside_each_other_up_to_the_bound_and_alone_when_they_say_so() {
    for (bound, alone, want) in [(2, false, 2), (8, false, 5), (8, true, 1)] {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let peak = Arc::clone(&most);
        let tool = tool_fn("count", "", move |_: ToolContext, _: Nothing| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                ""
            }
        });
        let tool = if alone { tool.alone() } else { tool };
        let calls = (0..5).fold(ScriptedTurn::new(), |turn, _| turn.call("count", json!({})));
        let provider = ScriptedProvider::new([calls, ScriptedTurn::new().text("ok")]);
        let agent = Agent::builder(provider)
            .tool(tool)
            .max_parallel_calls(bound)
            .build()
            .unwrap()
            .conversation();
        agent.run("Go.").await.unwrap();
        assert_eq!(peak.load(Ordering::SeqCst), want, "bound {bound}, alone {alone}");
    }
}

// Covers: E-34, G-36, T-51, H-25, H-30
#[tokio::test(start_paused = true)]
async fn in_text_mode_tools_are_described_and_results_come_as_one_user_message() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new()
            .text("Let me.\n<tool>\n{\"tool_name\": \"echo\", ")
            .text("\"arguments\": {\"text\": \"one\"}}\n</tool>\n<tool>")
            .text("{\"tool_name\": \"nope\", \"arguments\": {}}</tool>"),
        ScriptedTurn::new().text("Done."),
    ]);
    let agent = builder(&provider).call_mode(CallMode::Text).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
    let requests = provider.requests();
    assert!(requests[0].tools.is_empty());
    assert!(requests[0].system.as_ref().unwrap().contains("\n{\"name\":\"echo\","));
    let history = requests[1].messages.messages();
    assert_eq!(history[1].role, MessageRole::Assistant);
    assert_eq!(
        history[1].text(),
        "Let me.\n<tool>\n{\"tool_name\": \"echo\", \"arguments\": {\"text\": \"one\"}}\n</tool>\n\
         <tool>{\"tool_name\": \"nope\", \"arguments\": {}}</tool>",
        "as the model wrote it"
    );
    assert_eq!(history[2].role, MessageRole::User);
    let results = history[2].text();
    assert!(results.contains("<tool_result name=\"echo\" outcome=\"ok\">\none\n</tool_result>"));
    assert!(
        results.contains("<tool_result name=\"nope\" outcome=\"error\">\nThere is no tool `nope`.")
    );
}

#[tokio::test(start_paused = true)]
async fn usage_is_summed_over_requests_and_reported() {
    let usage = |input, output| UsageInfo::default().input_tokens(input).output_tokens(output);
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().call("echo", json!({ "text": "x" })).usage(usage(10, 2)),
        ScriptedTurn::new().text("ok").usage(usage(20, 3)),
    ]);
    let agent = agent(&provider);
    let mut stream = agent.run_stream("Go.");
    let mut reported = 0;
    while let Some(envelope) = stream.next().await {
        reported += usize::from(matches!(envelope.event, AgentEvent::TokenUsage(_)));
    }
    assert_eq!(reported, 2);
    assert_eq!(stream.outcome().await.unwrap().usage, Some(usage(30, 5)));
}

// Covers: E-32, G-36
#[tokio::test(start_paused = true)]
async fn options_of_the_request_and_shared_state_reach_their_places() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().call("state", json!({})),
        ScriptedTurn::new().text("ok"),
    ]);
    let tool = tool_fn("state", "", |context: ToolContext, _: Nothing| async move {
        let name = context.state::<String>().map(|name| (*name).clone());
        format!("{} {} {}", name.unwrap_or_default(), context.turn(), context.call_id())
    });
    let agent = Agent::builder(provider.clone())
        .tool(tool)
        .state(Arc::new("shared".to_owned()))
        .request(Request::default().temperature(0.5).system("Template."))
        .build()
        .unwrap()
        .conversation();
    agent.run("Go.").await.unwrap();
    assert_eq!(last_results(&provider), ["shared 1 call-0"]);
    let request = &provider.requests()[1];
    assert_eq!((request.temperature, request.system.as_deref()), (Some(0.5), Some("Template.")));
}

// Rows: N-36a
#[tokio::test(start_paused = true)]
async fn words_in_the_markup_of_a_call_are_text_and_the_model_is_told_once() {
    let written = "I look.\n<tool>echo the weather</tool>";
    let turns = || {
        [
            ScriptedTurn::new().text(written),
            ScriptedTurn::new().call("echo", json!({ "text": "fair" })),
            ScriptedTurn::new().text("<tool>\necho again\n</tool>"),
        ]
    };
    let provider = ScriptedProvider::new(turns());
    let outcome = agent(&provider).run("What is the weather?").await.unwrap();
    assert_eq!(outcome.text, "<tool>\necho again\n</tool>", "one notice, then it is the answer");
    let texts: Vec<_> = outcome.messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts[1], written, "the text stays text");
    assert!(texts[2].contains("between `<tool>` and `</tool>` are not a call"), "{texts:?}");
    let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
    assert_eq!((results.len(), results[0].content.as_str()), (1, "fair"));

    let provider = ScriptedProvider::new(turns());
    let without_tools = Agent::builder(provider).build().unwrap().conversation();
    assert_eq!(without_tools.run("What?").await.unwrap().text, written, "there is no tool to call");
    for told in ["```\n<tool>echo x</tool>\n```", "Use <tool>echo x</tool> for that."] {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text(told)]);
        assert_eq!(agent(&provider).run("How?").await.unwrap().text, told);
    }
}
