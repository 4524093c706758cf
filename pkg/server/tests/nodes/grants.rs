//! The permissions of a person for a conversation, on the node that goes on with it.

use forgeline_store::{SqliteStore, Stores};

use super::*;

/// An agent that removes as often as the last message has words, and then says so. One that `hangs` does not answer after the first time.
fn removing(hangs: bool) -> Agent {
    let provider = ScriptedProvider::from_fn(move |asked: &Asked| {
        let messages = asked.messages.messages();
        let last = messages.iter().rposition(|it| it.role == MessageRole::User).unwrap();
        let words = messages[last].text().split_whitespace().count();
        let results = messages[last..].iter().flat_map(|it| it.tool_results()).count();
        match results {
            1 if hangs => ScriptedTurn::new().hang(),
            done if done < words => ScriptedTurn::new().call("remove", json!({ "number": done })),
            _ => ScriptedTurn::new().text("Done."),
        }
    });
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    Agent::builder(provider).tool(remove.effects(ToolEffects::Irreversible)).build().unwrap()
}

fn said(text: &str, conversation: &str) -> Value {
    json!({ "input": text, "conversation_id": conversation })
}

/// Waits for a request of a run, and decides.
async fn decides(app: &Router, run: &str, decision: &str) {
    let asked = until(app, run, "tool_approval_request").await;
    let answer = json!({ "approval_id": asked["approval_id"], "decision": decision });
    let (status, answer) =
        value(post(app, &format!("{run}/approvals"), "ann", &answer).await).await;
    assert_eq!(status, 200, "{answer}");
}

/// Returns the numbers of requests and of results among the events of a run.
fn counted(events: &[Value]) -> (usize, usize) {
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    (count("tool_approval_request"), count("tool_result"))
}

#[tokio::test(start_paused = true)]
async fn what_a_person_allowed_for_a_conversation_holds_for_its_runs_on_every_node_and_for_no_other()
 {
    let two = TwoNodes::begin([removing(false), removing(false)]).await;
    for (decision, asked_again) in [("grant_always", 0), ("grant", 1)] {
        let run = begin(two.app(0), "ann", &said("Remove.", decision)).await;
        decides(two.app(1), &run, decision).await;
        assert_eq!(counted(&whole(two.app(0), &run).await), (1, 1));
        for at in [1, 0, 1] {
            let run = begin(two.app(at), "ann", &said("Remove.", decision)).await;
            if asked_again > 0 {
                decides(two.app(at), &run, decision).await;
            }
            let read = whole(two.app(at), &run).await;
            assert_eq!(counted(&read), (asked_again, 1), "{decision} at node {at}");
        }
        let other = format!("other than {decision}");
        let run = begin(two.app(1), "ann", &said("Remove.", &other)).await;
        decides(two.app(1), &run, "reject").await;
        assert_eq!(counted(&whole(two.app(1), &run).await), (1, 0), "another conversation");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_person_allowed_holds_in_the_run_that_the_next_node_goes_on_with() {
    let two = TwoNodes::begin([removing(true), removing(false)]).await;
    let run = begin(two.app(0), "ann", &said("Remove both.", "c")).await;
    decides(two.app(0), &run, "grant_always").await;
    until(two.app(0), &run, "tool_result").await;
    two.kill(0);
    let read = whole(two.app(1), &run).await;
    assert_eq!(read.last().unwrap()["status"], "completed");
    assert_eq!(counted(&read), (1, 2), "{read:?}");
    let run = begin(two.app(1), "ann", &said("Remove.", "c")).await;
    assert_eq!(counted(&whole(two.app(1), &run).await), (0, 1), "the next run");
}

#[test]
fn what_a_person_allowed_holds_after_a_restart_on_a_file() {
    let folder = std::env::temp_dir().join(format!("forgeline-grants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let service = async || {
        let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
        let (service, app) = over(&Stores::of(store), removing(false));
        service.recover().await.unwrap();
        (service, app)
    };
    let read = async |app: &Router, run: &str| super::super::recovered::whole(app, run).await;
    super::super::recovered::dies(async {
        let (service, app) = service().await;
        let run = begin(&app, "ann", &said("Remove.", "c")).await;
        decides(&app, &run, "grant_always").await;
        assert_eq!(counted(&read(&app, &run).await), (1, 1));
        timeout(Duration::from_secs(30), service.shutdown(Duration::from_secs(20))).await.unwrap();
    });
    super::super::recovered::lives(async {
        let (_service, app) = service().await;
        let run = begin(&app, "ann", &said("Remove.", "c")).await;
        assert_eq!(counted(&read(&app, &run).await), (0, 1));
        let run = begin(&app, "ann", &said("Remove.", "d")).await;
        decides(&app, &run, "reject").await;
        assert_eq!(counted(&read(&app, &run).await), (1, 0), "another conversation");
    });
    drop(std::fs::remove_dir_all(&folder));
}
