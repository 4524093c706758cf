//! Faults at each point of a call, and what is left behind: nothing.

use tokio::runtime::Handle;

use super::{
    asking::{agent, done, form},
    *,
};
use forgeline_agent::RunError;
use forgeline_types::AgentEvent;

/// A point at which a run waits for its server.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Point {
    List,
    Call,
    Progress,
    Question,
    Again,
}

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Dies,
    Garbage,
    LongLine,
    ListChange,
    Error,
    Cancel,
    Drop,
}

const POINTS: [Point; 5] =
    [Point::List, Point::Call, Point::Progress, Point::Question, Point::Again];

const FAULTS: [Fault; 7] = [
    Fault::Dies,
    Fault::Garbage,
    Fault::LongLine,
    Fault::ListChange,
    Fault::Error,
    Fault::Cancel,
    Fault::Drop,
];

/// Brings the server to a point; returns the request that waits.
async fn reach(scripted: &mut Scripted, point: Point) -> Value {
    if point == Point::List {
        return scripted.read_line().await;
    }
    scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
    let call = scripted.call().await;
    match point {
        Point::Progress => {
            let token = &call["params"]["_meta"]["progressToken"];
            let progress = json!({ "progressToken": token, "progress": 1 });
            scripted.notify("notifications/progress", progress).await;
        }
        Point::Question => scripted.ask(7, "elicitation/create", form()).await,
        Point::Again => {
            let again = json!({ "resultType": "input_required", "requestState": "st" });
            scripted.result(&call, again).await;
            return scripted.call().await;
        }
        Point::List | Point::Call => {}
    }
    call
}

/// Does what the server does by itself; returns it if it still lives.
async fn fail(mut scripted: Scripted, fault: Fault, request: &Value) -> Option<Scripted> {
    match fault {
        Fault::Dies => return None,
        Fault::Garbage => {
            scripted.write("{\"jsonrpc\":\"2.0\",\"id\":").await;
            scripted.write("{\"jsonrpc\":\"2.0\",\"id\":[],\"result\":7}").await;
            scripted.write("\u{0}\u{1b}[2J").await;
        }
        Fault::LongLine => scripted.write(&"x".repeat(9 << 20)).await,
        Fault::ListChange => {
            scripted.notify("notifications/tools/list_changed", json!({})).await;
        }
        Fault::Error => {
            let error = json!({ "code": -32000, "message": "no" });
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
            scripted.write(&answer.to_string()).await;
        }
        Fault::Cancel | Fault::Drop => {}
    }
    Some(scripted)
}

/// Answers what is still asked for until this end is gone, so that a run can go on.
async fn go_on(mut scripted: Scripted, request: Value) {
    let mut pending = Some(request);
    loop {
        let request = match pending.take() {
            Some(request) => request,
            None => match scripted.lines.next_line().await {
                Ok(Some(line)) => serde_json::from_str(&line).unwrap(),
                _ => return,
            },
        };
        let result = match request["method"].as_str() {
            Some("tools/list") => json!({ "tools": [listed("f")] }),
            Some("tools/call") => done(),
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        if scripted.to.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Runs the agent through one fault; returns its end, unless it was dropped.
async fn through(point: Point, fault: Fault) -> Option<Result<String, RunError>> {
    let (servers, mut scripted) = greeted(json!({ "command": "/no/such" })).await;
    let agent = agent(servers).build().unwrap().conversation();
    let mut stream = agent.run_stream("Do it.");
    let (cancel, questions) = (stream.cancel_token(), stream.questions());
    let (at_point, mut reached) = mpsc::channel(1);
    let server = async move {
        let request = reach(&mut scripted, point).await;
        // What was said has arrived.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        at_point.send(()).await.unwrap();
        if let Some(scripted) = fail(scripted, fault, &request).await {
            // A line that was too long was the answer.
            let is_lost = matches!(fault, Fault::LongLine | Fault::Error) && point != Point::List;
            let request = if is_lost { json!({}) } else { request };
            go_on(scripted, request).await;
        }
    };
    let server = tokio::spawn(server);
    let mut was_asked = false;
    loop {
        tokio::select! {
            biased;
            Some(()) = reached.recv() => {
                if fault == Fault::Cancel {
                    cancel.cancel();
                }
                if fault == Fault::Drop {
                    drop((stream, agent));
                    server.await.unwrap();
                    assert!(questions.open().is_empty());
                    return None;
                }
            }
            envelope = stream.next() => {
                let Some(envelope) = envelope else { break };
                was_asked |= matches!(envelope.event, AgentEvent::ToolQuestion(_));
            }
        }
    }
    assert_eq!(was_asked, point == Point::Question, "{point:?} {fault:?}");
    assert!(questions.open().is_empty(), "{point:?} {fault:?}");
    let outcome = stream.outcome().await;
    drop(agent);
    server.await.unwrap();
    Some(outcome.map(|outcome| {
        let results = outcome.messages.iter().flat_map(|message| message.tool_results());
        results.map(|result| result.content.clone()).collect()
    }))
}

#[tokio::test(start_paused = true)]
async fn every_call_ends_and_leaves_nothing_running() {
    let metrics = Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for point in POINTS {
        for fault in FAULTS {
            let began = Instant::now();
            let ended = timeout(Duration::from_mins(5), Box::pin(through(point, fault))).await;
            let ended = ended.unwrap_or_else(|_| panic!("{point:?} {fault:?} hangs"));
            let want = match (point, fault) {
                (_, Fault::Drop) => None,
                (_, Fault::Cancel) => Some("cancelled"),
                // A server that does not list is left out.
                (Point::List, Fault::Dies | Fault::Error) => Some("There is no tool `mcp.s.f`"),
                (_, Fault::Dies) => Some("the MCP server `s` has ended"),
                (Point::List, _) | (_, Fault::Garbage | Fault::ListChange) => Some("done"),
                (_, Fault::LongLine) => Some("a line of more than 8388608 bytes"),
                (_, Fault::Error) => Some("the MCP server `s` failed"),
            };
            let got = ended.map(|ended| ended.unwrap_or_else(|error| error.to_string()));
            match (&got, want) {
                (None, None) => {}
                (Some(got), Some(want)) if got.contains(want) => {}
                _ => panic!("{point:?} {fault:?}: {got:?}, expected {want:?}"),
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{point:?} {fault:?}");
            // The session ends by itself, within the seconds in which it lets answers go out.
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(metrics.num_alive_tasks(), before, "{point:?} {fault:?}");
        }
    }
}
