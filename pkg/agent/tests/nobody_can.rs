//! What nobody can do to a call that needs approval, by whatever they send.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

#[cfg(feature = "local-tools")]
use tokio::time::timeout;

use super::*;
use crate::{
    approval::{ApprovalContext, Decision},
    journal::MemoryJournal,
    tools::ToolEffects,
};
use forgeline_types::{ApprovalRequest, ErrorCode, ToolOutputEvent};

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

/// An agent that removes, and the count of what it removed.
fn removing(turns: impl IntoIterator<Item = ScriptedTurn>) -> (AgentBuilder, Arc<AtomicUsize>) {
    let removed = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&removed);
    let tool = tool_fn("files.remove", "Removes a file.", move |_: ToolContext, it: Path| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(format!("removed {} bytes of path", it.path.len()))
    });
    let builder =
        Agent::builder(ScriptedProvider::new(turns)).tool(tool.effects(ToolEffects::Irreversible));
    (builder, removed)
}

fn call(name: &str, path: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(name, json!({ "path": path }))
}

fn done() -> ScriptedTurn {
    ScriptedTurn::new().text("Done.")
}

/// Runs to the first request for approval, and puts the run away there.
async fn asked(turns: Vec<ScriptedTurn>) -> (ApprovalRequest, MemoryJournal) {
    let journal = MemoryJournal::default();
    let agent = removing(turns).0.build().unwrap().conversation().with_journal(journal.clone());
    let mut stream = agent.run_stream("Go.");
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
            return (*request, journal);
        }
    }
    panic!("nothing was asked");
}

/// The names under which a model may try to call the tool: none of them runs it unasked.
#[tokio::test(start_paused = true)]
async fn nobody_can_run_a_gated_tool_by_a_forged_name() {
    let names = [
        "files_remove",
        "files.remove ",
        "_files.remove",
        "_.files.remove",
        "FILES.REMOVE",
        "files..remove",
        "files.remove\u{0}",
        "files.rem\u{43e}ve",
        "./files.remove",
        "_remove",
        "tool.files.remove",
        "",
    ];
    for name in names {
        let (builder, removed) = removing([call(name, "a"), done()]);
        let agent = builder
            .approver(|_: ApprovalContext| async { Decision::reject("no") })
            .build()
            .unwrap()
            .conversation();
        agent.run("Go.").await.unwrap();
        assert_eq!(removed.load(Ordering::SeqCst), 0, "{name:?}");
        // A name that means another tool, or none, is not asked about as if it were this one.
        let transcript = agent.transcript();
        let results: Vec<_> = transcript.iter().flat_map(|it| it.tool_results()).collect();
        assert!(results.iter().all(|result| result.is_error), "{name:?}: {results:?}");
    }
    // Nor can a tool be added under a name that the agent keeps for itself.
    for name in ["_files.remove", "task_completion"] {
        let tool = tool_fn(name, "Forged.", async |_: ToolContext, (): ()| ());
        assert!(removing([]).0.tool(tool).build().is_err(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_can_use_an_approval_for_other_arguments_or_another_run() {
    let (first, _) = asked(vec![call("files.remove", "a")]).await;
    let (other, journal) = asked(vec![call("files.remove", "b")]).await;
    assert_ne!(first.approval_id, other.approval_id);
    // The arguments cannot be changed in what was written down either.
    let edited = journal.to_string().replacen(r#"\"path\":\"b\""#, r#"\"path\":\"c\""#, 1);
    let edited = edited.replacen(r#""path":"b""#, r#""path":"c""#, 1);
    assert_ne!(edited, journal.to_string());
    let (builder, removed) = removing([done()]);
    let forged = builder
        .clone()
        .build()
        .unwrap()
        .conversation()
        .with_journal(MemoryJournal::from(edited.as_str()));
    assert_eq!(forged.resume().await.unwrap_err().error.code, ErrorCode::Journal);

    let agent = builder.build().unwrap().conversation().with_journal(journal);
    let mut stream = agent.resume_stream().await.unwrap().unwrap();
    let approvals = stream.approvals();
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
            assert!(approvals.answer(&first.approval_id, Decision::Grant).is_err());
            assert_eq!(removed.load(Ordering::SeqCst), 0);
            approvals.answer(&request.approval_id, Decision::Grant).unwrap();
            assert!(approvals.answer(&request.approval_id, Decision::Grant).is_err(), "replayed");
        }
    }
    assert_eq!(removed.load(Ordering::SeqCst), 1);
}

/// One megabyte of arguments is shown whole, and runs as it was shown.
#[tokio::test(start_paused = true)]
async fn nobody_can_hide_a_part_of_long_arguments_from_the_person() {
    let path = "a".repeat(1 << 20);
    let (builder, removed) = removing([call("files.remove", &path), done()]);
    let want = json!({ "path": path }).to_string();
    let approver = move |it: ApprovalContext| {
        let is_whole = it.request.arguments.as_str() == want;
        async move { if is_whole { Decision::Grant } else { Decision::reject("cut") } }
    };
    let agent = builder.approver(approver).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    assert_eq!(removed.load(Ordering::SeqCst), 1);
}

/// A schema without a type is refused by the tool's name, with what to write.
#[test]
fn nobody_can_register_a_schema_without_a_type() {
    #[derive(Debug)]
    struct Untyped;

    impl crate::tools::Tool for Untyped {
        fn name(&self) -> &'static str {
            "untyped"
        }

        fn description(&self) -> &'static str {
            "Has no type."
        }

        fn schema(&self) -> Value {
            json!({ "properties": {} })
        }

        fn execute(&self, _: ToolContext, _: forgeline_types::Json) -> crate::tools::ToolFuture {
            Box::pin(std::future::ready(Ok("".into())))
        }
    }

    let error = removing([]).0.tool(Untyped).build().err().unwrap();
    let text = error.to_string()
        + &std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(text.contains("`untyped`") && text.contains(r#""type": "object""#), "{text}");
}

#[cfg(feature = "local-tools")]
#[cfg(unix)]
mod commands {
    use std::{
        fs::{File, OpenOptions},
        io::Read as _,
        path::PathBuf,
        process::Command,
    };

    use super::*;
    use crate::tools::CommandTool;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("forgeline-nobody-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            assert!(Command::new("mkfifo").arg(path.join("pipe")).status().unwrap().success());
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // A folder that is left over in the temporary folder harms no other test.
            let _removed = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The ways in which a run ends while its command goes on.
    #[derive(Debug, Clone, Copy)]
    enum End {
        Cancel,
        Drop,
        PutAway,
        TimeOut,
    }

    /// However a run ends, its command is gone with all that it has started.
    #[tokio::test]
    async fn nobody_can_leave_a_grandchild_behind() {
        for end in [End::Cancel, End::Drop, End::PutAway, End::TimeOut] {
            let folder = Folder::new(&format!("{end:?}"));
            let script = "sleep 1000 > pipe & echo ready; wait";
            let arguments = json!({ "command": ["sh", "-c", script] });
            let provider = ScriptedProvider::new([
                ScriptedTurn::new().call("command.run", arguments),
                ScriptedTurn::new().text("Done."),
            ]);
            let tool = CommandTool::new(&folder.0, ["sh"]).unwrap().free_arguments(true);
            let journal = MemoryJournal::default();
            let builder = Agent::builder(provider)
                .tool(tool)
                .approver(|_: ApprovalContext| async { Decision::Grant });
            let builder = match end {
                End::TimeOut => builder.tool_timeout(Duration::from_secs(5)),
                End::Cancel | End::Drop | End::PutAway => builder,
            };
            let agent = builder.build().unwrap().conversation().with_journal(journal.clone());
            let mut stream = agent.run_stream("Go.");
            let pipe = folder.0.join("pipe");
            let opened = tokio::task::spawn_blocking({
                let pipe = pipe.clone();
                move || File::open(pipe).unwrap()
            });
            while let Some(envelope) = stream.next().await {
                if let AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) = envelope.event {
                    assert_eq!(content, "ready\n");
                    break;
                }
            }
            let Ok(opened) = timeout(Duration::from_mins(1), opened).await else {
                // The thread that opens it would wait for ever for one that writes.
                drop(OpenOptions::new().read(true).write(true).open(folder.0.join("pipe")));
                panic!("{end:?}: the command does not begin");
            };
            let mut opened = opened.unwrap();
            // It ends when the last process that could write is gone.
            let writers = tokio::task::spawn_blocking(move || opened.read_to_end(&mut Vec::new()));
            match end {
                End::Cancel => {
                    stream.cancel();
                    while stream.next().await.is_some() {}
                }
                End::TimeOut => while stream.next().await.is_some() {},
                End::Drop => drop(stream),
                End::PutAway => {
                    drop(stream);
                    let kept = MemoryJournal::from(journal.to_string().as_str());
                    assert!(kept.to_string().contains("command.run"));
                }
            }
            let gone = timeout(Duration::from_secs(20), writers).await;
            assert!(gone.is_ok(), "{end:?}: a process is left");
        }
    }
}
