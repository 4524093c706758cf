//! The demo model with the real tools on real files.

use std::{fs, path::PathBuf};

use super::*;
use crate::{
    OutcomeKind,
    approval::Decision,
    config::{CallMode, NoToolCall},
    tools::{Calculator, FileTools},
};
use forgeline_llm::demo::DemoProvider;

/// A folder of a test's own, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("forgeline-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("docs")).unwrap();
        fs::write(path.join("README.md"), "Streaming is fun.\nIt streams.\nThe end.\n").unwrap();
        let guide = "streaming\nStreaming again\nNo more streaming\nfour\nfive\n";
        fs::write(path.join("docs/guide.md"), guide).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left over in the temporary folder harms nobody.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

fn demo_agent(folder: &Folder, mode: CallMode) -> Conversation {
    Agent::builder(DemoProvider::new())
        .tool(Calculator)
        .tools(FileTools::new(&folder.0).unwrap().into_tools())
        .tool(tool_fn("add", "Adds.", |_: ToolContext, add: Add| async move {
            (add.a + add.b).to_string()
        }))
        .call_mode(mode)
        .build()
        .unwrap()
        .conversation()
}

#[tokio::test]
async fn the_demo_model_answers_from_tools_in_both_modes() {
    let folder = Folder::new("demo");
    #[rustfmt::skip]
    let cases = [
        ("What is 6 * 7?",                                2, "6 * 7 = 42"),
        ("How much is 1 / 0?",                            2, "That did not work: the call of `calculator` failed."),
        ("Which file here mentions streaming most, and how many lines has it times 3?",
                                                          4, "`docs/guide.md` mentions \"streaming\" most: on 3 lines. It has 5 lines, and 5 * 3 = 15."),
        ("Which file mentions dragons most?",             2, "No file here mentions \"dragons\"."),
        ("How many lines has README.md?",                 2, "`README.md` has 3 lines."),
        ("List the files here.",                          2, "There are 2 files:"),
        ("Search for \"It streams\".",                    2, "Here is what I found: 1 hits in 1 of 2 files\nREADME.md:2: It streams."),
        ("Read docs/guide.md, please.",                   2, "This is what it says. docs/guide.md: lines 1 to 5 of 5"),
        ("Read missing.md.",                              2, "That did not work: the call of `files.read` failed."),
        ("Please add 17 and 25.",                         2, "The tool `add` says: 42"),
        ("Tell me a story.",                              1, "I am forgeline's demo model. I am no language model"),
    ];
    for mode in [CallMode::Text, CallMode::Native] {
        let agent = demo_agent(&folder, mode);
        for (task, turns, want) in cases {
            let outcome = agent.run(task).await.unwrap();
            assert!(outcome.text.contains(want), "{mode:?} {task}: {}", outcome.text);
            assert_eq!(outcome.turns, turns, "{mode:?} {task}");
        }
    }
}

#[tokio::test]
async fn the_demo_model_writes_a_file_after_a_person_allows_it() {
    for (decision, want) in [(Decision::Grant, Some("Read a.md.")), (Decision::reject("no"), None)]
    {
        for mode in [CallMode::Text, CallMode::Native] {
            let folder = Folder::new("write");
            let tools = FileTools::new(&folder.0).unwrap().into_changing_tools();
            let builder = Agent::builder(DemoProvider::new()).tools(tools).call_mode(mode);
            let agent = builder.build().unwrap().conversation();
            let mut run = agent.run_stream("Write \"Read a.md.\" to notes.md.");
            let mut shown = Vec::new();
            while let Some(envelope) = run.next().await {
                if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
                    shown.push(request.preview.unwrap().text);
                    run.approvals().answer(&request.approval_id, decision.clone()).unwrap();
                }
            }
            let text = run.outcome().await.unwrap().text;
            let found = fs::read_to_string(folder.0.join("notes.md")).ok();
            assert_eq!(found.as_deref(), want, "{mode:?}: {text}");
            assert!(shown.len() == 1 && shown[0].contains("+Read a.md."), "{shown:?}");
            let said = if want.is_some() { "`notes.md` is written." } else { "did not work" };
            assert!(text.contains(said), "{mode:?}: {text}");
        }
    }
}

#[tokio::test]
async fn the_demo_model_thinks_aloud_and_always_says_the_same() {
    let folder = Folder::new("same");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut stream = demo_agent(&folder, CallMode::Auto).run_stream("What is 2 ^ 10?");
        let mut events = Vec::new();
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
        }
        assert_whole(&events);
        let kinds = kinds(&events);
        assert!(kinds.contains(&"thinking_start".to_owned()), "{kinds:?}");
        seen.push(kinds);
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn demo_model_answers_at_the_turn_limit() {
    let folder = Folder::new("urge");
    let question = "Which file here mentions streaming most, and how many lines has it times 3?";
    let tools = || FileTools::new(&folder.0).unwrap().into_tools();
    let builder = || Agent::builder(DemoProvider::new()).tool(Calculator).tools(tools());
    for mode in [CallMode::Text, CallMode::Native] {
        let agent = builder().call_mode(mode).max_turns(2).build().unwrap().conversation();
        let outcome = agent.run(question).await.unwrap();
        assert_eq!(
            (outcome.reason, outcome.turns),
            (OutcomeKind::LimitReached { limit: crate::run::Limit::Turns }, 3),
            "{mode:?}"
        );

        let nudged = builder().no_tool_call(NoToolCall::Nudge(3)).loop_breaking_tools(true);
        let agent = nudged.call_mode(mode).build().unwrap().conversation();
        let outcome = agent.run("What is 1 + 1?").await.unwrap();
        assert_eq!(outcome.reason, OutcomeKind::TaskCompleted { result: "1 + 1 = 2".into() });
    }
}
