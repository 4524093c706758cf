//! Runs that are opened again from the lines of their journal.

use futures_util::StreamExt as _;

use super::{journal::with_line, *};
use crate::{journal::MemoryJournal, private::RunInJournal, run::NO_ANSWER};

/// An agent that is asked for an answer at its limit of turns, and gives none.
fn wordless(journal: MemoryJournal) -> Conversation {
    let turns = [ScriptedTurn::new().call("nope", json!({})), ScriptedTurn::new()];
    builder(&ScriptedProvider::new(turns))
        .max_turns(1)
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal)
}

/// Adds a line as format 4 has it: with its messages in the record.
fn with_older_line(lines: Vec<String>, line: &str) -> Vec<String> {
    let (_, line) = line.split_once(r#""record":"#).unwrap();
    let line = line.strip_suffix('}').unwrap();
    let Some((record, list)) = line.split_once(r#","messages":[{"#) else {
        return with_line(lines, line);
    };
    let count = serde_json::from_str::<Value>(record).unwrap()["took"]["messages"].clone();
    let (count, list) = (format!(r#""messages":{count}"#), format!(r#""messages":[{{{list}"#));
    with_line(lines, &record.replacen(&count, &list, 1))
}

#[tokio::test(start_paused = true)]
async fn what_a_run_kept_at_its_limit_is_compared_with_what_its_version_kept() {
    let journal = MemoryJournal::default();
    let agent = wordless(journal.clone());
    agent.run("Do it.").await.unwrap_err();
    let shown = agent.transcript().last().unwrap().text();
    let lines = journal.lines();
    let run_id = serde_json::from_str::<Value>(&lines[0]).unwrap()["record"]["began"]["state"]["outcome"]["run_id"].clone();
    for (version, kept, is_read) in [
        (7, &*shown, true),
        (6, &*shown, true),
        (5, NO_ANSWER, true),
        (4, NO_ANSWER, true),
        (6, NO_ANSWER, false),
        (5, &*shown, false),
    ] {
        let version = format!(r#""version":{version}"#);
        let lines = lines.iter().fold(Vec::new(), |lines, line| {
            let line = line.replacen(r#""version":7"#, &version, 1).replace(&shown, kept);
            with_older_line(lines, &line)
        });
        let agent = wordless(MemoryJournal::from(lines));
        let opened = agent.reopen(run_id.as_str().unwrap(), |_, _| {}).await;
        assert_eq!(
            matches!(opened, Ok(RunInJournal::Open(_))),
            is_read,
            "{version} {kept}: {opened:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_opened_run_does_not_go_on_behind_what_its_conversation_became() {
    let turn = || ScriptedTurn::new().call("echo", json!({ "text": "x" }));
    for is_cleared in [false, true] {
        let journal = MemoryJournal::default();
        let provider = ScriptedProvider::new([turn(), ScriptedTurn::new().text("Done.")]);
        let agent =
            builder(&provider).build().unwrap().conversation().with_journal(journal.clone());
        let mut stream = agent.run_stream("Do it.");
        let run_id = stream.next().await.unwrap().run_id;
        while !matches!(stream.next().await.unwrap().event, AgentEvent::ToolCall(_)) {}
        drop((stream, agent));
        let again =
            builder(&provider).build().unwrap().conversation().with_journal(journal.clone());
        let Ok(RunInJournal::Open(open)) = again.reopen(&run_id, |_, _| {}).await else {
            panic!("the run is open")
        };
        if is_cleared {
            again.clear().await.unwrap();
        }
        let lines = journal.lines().len();
        let shown = format!("{:?}", open.into_stream(Vec::new()).collect::<Vec<_>>().await);
        assert_eq!(shown.contains("the conversation has changed"), is_cleared, "{shown}");
        assert_eq!(journal.lines().len() == lines, is_cleared);
    }
}
