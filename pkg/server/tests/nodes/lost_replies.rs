//! Requests whose storing had no reply.

use super::{super::elsewhere::asking, *};
use forgeline_store::ConversationKey;

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_stored_without_a_reply_reaches_the_run() {
    for at in [0, 1] {
        let two = TwoNodes::begin([asking(), asking()]).await;
        let run =
            begin(two.app(0), "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
        let asked = until(two.app(0), &run, "tool_approval_request").await;
        two.stores.loses_notes.store(true, Ordering::SeqCst);
        let grant = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
        let status = post(two.app(at), &format!("{run}/approvals"), "ann", &grant).await.status();
        assert!(!two.stores.loses_notes.load(Ordering::SeqCst));
        let goes_on = until(two.app(1 - at), &run, "client_tool_request");
        let goes_on = timeout(Duration::from_mins(2), goes_on).await;
        assert!(goes_on.is_ok(), "at {at}: answered with {status}, and the run waits");
    }
}

/// The node that began the run ended between its row and its log; the client asks another one.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_acknowledged_by_its_key_can_be_read() {
    let two = TwoNodes::begin([chatty(), chatty()]).await;
    let send = |at: usize| {
        let request = request(Method::POST, "/v1/runs", "ann")
            .header("content-type", "application/json")
            .header("idempotency-key", "one")
            .body(Body::from(json!({ "input": "a" }).to_string()));
        two.app(at).clone().oneshot(request.unwrap())
    };
    two.stores.hangs_log.store(true, Ordering::SeqCst);
    let first = timeout(Duration::from_secs(1), send(0)).await;
    assert!(first.is_err(), "the first node does not answer: {first:?}");
    let (status, begun) = value(send(1).await.unwrap()).await;
    assert_eq!(status, 202, "{begun}");
    let run = format!("/v1/runs/{}", begun["run_id"].as_str().unwrap());
    let read = get(two.app(1), &format!("{run}/events"), "ann").await;
    assert_eq!(read.status(), 200);
    two.kill(0);
    let events = whole(two.app(1), &run).await;
    assert_eq!(events.last().unwrap()["status"], "completed", "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_stored_without_a_reply_is_there_once() {
    for (at, loses_sends) in [(0, false), (1, false), (1, true)] {
        let tool = Arc::default();
        let two = TwoNodes::begin([working(&tool, "Done."), working(&tool, "Done.")]).await;
        let run =
            begin(two.app(0), "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
        works(&tool).await;
        two.stores.loses_notes.store(!loses_sends, Ordering::SeqCst);
        two.stores.loses_sends.store(loses_sends, Ordering::SeqCst);
        let word = json!({ "input": "And this.", "when": "end" });
        let status = post(two.app(at), &format!("{run}/inputs"), "ann", &word).await.status();
        assert!(!two.stores.loses_notes.load(Ordering::SeqCst));
        tool.goes_on.notify_waiters();
        whole(two.app(1 - at), &run).await;
        let key = ConversationKey::new("team-a", "c");
        let said = two.stores.stores().conversations.messages(&key, 0, 99).await.unwrap();
        let count = said.iter().filter(|it| it.message.text() == "And this.").count();
        assert_eq!(count, 1, "at {at}: {status}: {said:?}");
    }
}
