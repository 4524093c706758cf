//! Files that a person changes while a run is about to change them.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use super::{approvals::next_request, *};
use crate::{
    approval::{ApprovalContext, Decision},
    journal::MemoryJournal,
    private::{RequestAnswer, RunInJournal},
    tools::FileTools,
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("forgeline-changed-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("a.txt"), "seed\n").unwrap();
        Self(path)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.0.join("a.txt")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn write() -> ScriptedTurn {
    ScriptedTurn::new().call("files.write", json!({ "path": "a.txt", "content": "agent\n" }))
}

fn read() -> ScriptedTurn {
    ScriptedTurn::new().call("files.read", json!({ "path": "a.txt" }))
}

fn agent(folder: &Folder, turns: Vec<ScriptedTurn>) -> (ScriptedProvider, AgentBuilder) {
    let provider = ScriptedProvider::new(turns);
    let tools = FileTools::new(&folder.0).unwrap().into_changing_tools();
    let builder = builder(&provider).tools(tools);
    (provider, builder)
}

/// The results that the model has read, in order.
fn results(provider: &ScriptedProvider) -> Vec<String> {
    let requests = provider.requests();
    let results = requests.last().unwrap().messages.iter().flat_map(|it| it.tool_results());
    results.map(|result| result.content.clone()).collect()
}

// Rows: N-40
#[tokio::test]
async fn n40_what_a_person_changes_meanwhile_is_asked_about_again() {
    let folder = Folder::new("again");
    let end = ScriptedTurn::new().text("Done.");
    let (provider, builder) = agent(&folder, vec![read(), write(), read(), write(), end]);
    let path = folder.0.join("a.txt");
    let shown = Arc::<Mutex<Vec<String>>>::default();
    let told = Arc::clone(&shown);
    let approver = move |asked: ApprovalContext| {
        let mut shown = told.lock().unwrap();
        shown.push(asked.request.preview.unwrap().text);
        if shown.len() == 1 {
            fs::write(&path, "mine\n").unwrap();
        }
        std::future::ready(Decision::Grant)
    };
    builder.approver(approver).build().unwrap().conversation().run("Go.").await.unwrap();
    let results = results(&provider);
    assert!(results[1].contains("changed after this call was shown"), "{results:?}");
    assert!(results[2].contains("mine"), "{results:?}");
    assert!(results[3].contains("wrote 6 bytes"), "{results:?}");
    let shown = shown.lock().unwrap();
    assert!(
        shown.len() == 2 && shown[0].contains("-seed") && shown[1].contains("-mine"),
        "{shown:?}"
    );
    assert_eq!(folder.text(), "agent\n");
}

// Rows: N-40
/// The process that showed the call is gone; its answer means what it showed.
#[tokio::test]
async fn n40_a_call_that_was_put_away_is_what_was_shown_before() {
    for (now, runs) in [("seed\n", true), ("mine\n", false), ("deed\n", false)] {
        let folder = Folder::new("away");
        let journal = MemoryJournal::default();
        let (_, first) = agent(&folder, vec![write()]);
        let first = first.build().unwrap().conversation().with_journal(journal.clone());
        let mut stream = first.run_stream("Go.");
        let mut events = Vec::new();
        let request = next_request(&mut stream, &mut events).await;
        drop((stream, first));
        fs::write(folder.0.join("a.txt"), now).unwrap();
        let (provider, second) = agent(&folder, vec![ScriptedTurn::new().text("Done.")]);
        let second = second
            .build()
            .unwrap()
            .conversation()
            .with_journal(MemoryJournal::from(journal.lines()));
        let run_id = events[0].run_id.clone();
        let RunInJournal::Open(open) = second.reopen(&run_id, |_, _| {}).await.unwrap() else {
            panic!("the run is open")
        };
        let from = usize::try_from(open.events()).unwrap();
        let logged = events.split_off(from).into_iter().map(|envelope| envelope.event).collect();
        let mut stream = open.into_stream(logged);
        let granted = stream.steering();
        granted
            .give_when_open(request.approval_id.clone(), RequestAnswer::Decided(Decision::Grant));
        while stream.next().await.is_some() {}
        let results = results(&provider);
        assert_eq!(folder.text() == "agent\n", runs, "{now:?}: {results:?}");
        let told = "has changed since it was shown for approval";
        assert_eq!(results[0].contains(told), !runs, "{results:?}");
    }
}
