//! The same waits over real connections, where no clock can be paused: short limits, wide bounds.

use std::{ops::Range, sync::Arc, time::Duration};

use forgeline::{
    agent::{Agent, RunError},
    llm::{
        ProviderError, RetryPolicy, TimeoutKind, Timeouts,
        transport::{HttpTransport, Transport},
    },
    types::ErrorCode,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
    time::{Instant, interval, timeout},
};

use super::{
    WIRES, Wire, begun,
    scenario::whole,
    server::{Outcome, ask},
};

/// The limit that each case is about; the others are far away. A busy machine needs less to connect and to send what comes first.
const SHORT: Duration = Duration::from_secs(5);
/// What the limit may come to on a busy machine.
const TAKES: Range<Duration> = SHORT..Duration::from_mins(1);
/// A wait that is not limited ends here.
const NEVER: Duration = Duration::from_secs(90);
/// The pace of what comes again.
const PACE: Duration = Duration::from_millis(10);

/// Bytes of a response, and those that come again for ever; none are silence.
#[derive(Clone)]
struct Sent {
    head: &'static str,
    body: String,
    again: String,
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const REFUSAL: &str =
    "HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 50000\r\n\r\n";

fn sent(body: String, again: impl Into<String>) -> Sent {
    Sent { head: STREAM, body, again: again.into() }
}

async fn write(stream: TcpStream, sent: Sent) -> std::io::Result<()> {
    let (mut request, mut response) = stream.into_split();
    let mut first = [0; 1024];
    // A head of HTTP behind no request would be read as one for nobody.
    request.read_exact(&mut first[..1]).await?;
    tokio::spawn(async move { while request.read(&mut first).await.is_ok_and(|read| read > 0) {} });
    response.write_all(sent.head.as_bytes()).await?;
    response.write_all(sent.body.as_bytes()).await?;
    let mut ticks = interval(PACE);
    loop {
        ticks.tick().await;
        response.write_all(sent.again.as_bytes()).await?;
    }
}

/// A server on 127.0.0.1 that answers every request so.
async fn serve(sent: Sent) -> (String, AbortHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // It ends when the client has gone, which is what is tested.
            drop(write(stream, sent.clone()).await);
        }
    });
    (url, task.abort_handle())
}

/// How a case ends: by a limit that is an error, with an error of this kind, or well.
#[derive(Clone, Copy)]
enum Ends {
    Late(TimeoutKind),
    With(ErrorCode),
    Well,
}

struct Case {
    name: &'static str,
    sent: fn(&Wire) -> Sent,
    limit: fn(Timeouts) -> Timeouts,
    ends: Ends,
    text: &'static str,
}

/// The answer without what is after its finish.
fn finished(wire: &Wire) -> String {
    whole(wire).replace("data: [DONE]\n\n", "")
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "a stalled error body", sent: |_| Sent { head: REFUSAL, ..sent("you may not".into(), "") },
        limit: |times| times.error_body(SHORT), ends: Ends::With(ErrorCode::Auth), text: "" },
    Case { name: "an error body that trickles", sent: |_| Sent { head: REFUSAL, ..sent("you may not".into(), " ") },
        limit: |times| times.error_body(SHORT), ends: Ends::With(ErrorCode::Auth), text: "" },
    Case { name: "no head", sent: |_| Sent { head: "", ..sent(String::new(), "") },
        limit: |times| times.headers(SHORT), ends: Ends::Late(TimeoutKind::Headers), text: "" },
    Case { name: "no body", sent: |_| sent(String::new(), ""),
        limit: |times| times.first_byte(SHORT), ends: Ends::Late(TimeoutKind::FirstByte), text: "" },
    Case { name: "silence", sent: |wire| sent(begun(wire), ""),
        limit: |times| times.idle(SHORT), ends: Ends::Late(TimeoutKind::Idle), text: "kept" },
    Case { name: "pings for ever", sent: |wire| sent(begun(wire), wire.comment),
        limit: |times| times.content(SHORT), ends: Ends::Late(TimeoutKind::Content), text: "kept" },
    Case { name: "pings alone for ever", sent: |wire| sent(wire.comment.into(), wire.comment),
        limit: |times| times.content(SHORT), ends: Ends::Late(TimeoutKind::Content), text: "" },
    Case { name: "blanks for ever", sent: |wire| sent(begun(wire), "\n"),
        limit: |times| times.content(SHORT), ends: Ends::Late(TimeoutKind::Content), text: "kept" },
    Case { name: "words for ever", sent: |wire| sent(begun(wire), wire.delta("")),
        limit: |times| times.total(SHORT), ends: Ends::Late(TimeoutKind::Total), text: "kept" },
    Case { name: "no end behind the finish", sent: |wire| sent(finished(wire), ""),
        limit: |times| times.after_finish(SHORT), ends: Ends::Well, text: "kept" },
    Case { name: "pings behind the finish", sent: |wire| sent(finished(wire), wire.comment),
        limit: |times| times.after_finish(SHORT), ends: Ends::Well, text: "kept" },
];

async fn meet(wire: &Wire, case: &Case) -> Result<(), String> {
    let (url, server) = serve((case.sent)(wire)).await;
    let far = Timeouts::NONE.after_finish(NEVER * 2).error_body(NEVER * 2);
    let timeouts = (case.limit)(far);
    let provider = wire.provider(&url, &move |mut setup| {
        (setup.timeouts, setup.retry) = (timeouts, RetryPolicy::NONE);
        setup
    });
    let met = timeout(NEVER, ask(&*provider)).await;
    server.abort();
    let met = met.map_err(|_| "it never ends".to_owned())?;
    let Outcome { text, error, took, .. } = met;
    let is_as_wanted = match (&error, case.ends) {
        (Some(ProviderError::Timeout { which, .. }), Ends::Late(want)) => *which == want,
        (Some(error), Ends::With(want)) => {
            error.code() == want && error.to_string().contains("you may not")
        }
        (error, Ends::Well) => error.is_none(),
        _ => false,
    };
    // A protocol whose last event is the end itself waits for nothing.
    let is_at_once = matches!(case.ends, Ends::Well) && took < SHORT;
    let is_in_time = TAKES.contains(&took) || is_at_once;
    if is_as_wanted && is_in_time && text == case.text {
        return Ok(());
    }
    Err(format!("{text:?}, {error:?} after {took:?}"))
}

// Found: R3, R4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_limit_holds_over_a_real_connection() {
    let cases = WIRES.iter().flat_map(|wire| CASES.iter().map(move |case| (wire, case)));
    let mut meetings: FuturesUnordered<_> = cases
        .map(async |(wire, case)| {
            meet(wire, case).await.map_err(|why| format!("{}, {}: {why}", wire.name, case.name))
        })
        .collect();
    let (mut count, mut failed) = (0, Vec::new());
    while let Some(met) = meetings.next().await {
        count += 1;
        failed.extend(met.err());
    }
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
    assert_eq!(count, 66);
}

/// A server that takes connections and says nothing, not even a word of TLS.
async fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Runs an agent against a server that goes on for ever.
async fn run(wire: &Wire) -> Result<(), String> {
    let (url, server) = serve(sent(begun(wire), wire.comment)).await;
    let provider = wire.provider(&url, &|setup| setup);
    let agent = Agent::builder(provider).run_timeout(SHORT).build().unwrap();
    let start = Instant::now();
    let ended = timeout(NEVER, agent.run("Go.")).await;
    server.abort();
    let failed = ended.map_err(|_| "it never ends".to_owned())?.map(|outcome| outcome.text);
    let is_late = |failed: &RunError| {
        failed.error.code == ErrorCode::Timeout && failed.outcome.text == "kept"
    };
    let is_as_wanted = failed.as_ref().is_err_and(is_late) && TAKES.contains(&start.elapsed());
    is_as_wanted.then_some(()).ok_or_else(|| format!("{failed:?} after {:?}", start.elapsed()))
}

/// Asks over a connection that is never made: the server says nothing to the client's TLS.
async fn connect(wire: &Wire) -> Result<(), String> {
    let (_listener, address) = silent().await;
    let transport: Arc<dyn Transport> =
        Arc::new(HttpTransport::with_connect_timeout(SHORT).unwrap());
    let provider = wire.provider(&format!("https://{address}"), &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup.retry = RetryPolicy::NONE;
        setup
    });
    let met = timeout(NEVER, ask(&*provider)).await.map_err(|_| "it never ends".to_owned())?;
    let is_late = matches!(
        met.error,
        Some(ProviderError::Timeout { which: TimeoutKind::Connect, after, .. }) if after == SHORT
    );
    let is_as_wanted = is_late && TAKES.contains(&met.took);
    is_as_wanted.then_some(()).ok_or_else(|| format!("{:?} after {:?}", met.error, met.took))
}

// Found: R4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_and_runs_have_their_limits_over_a_real_connection() {
    let mut meetings = FuturesUnordered::new();
    for wire in WIRES {
        meetings.push(async { (wire.name, connect(wire).await, run(wire).await) });
    }
    while let Some((name, connected, ran)) = meetings.next().await {
        assert_eq!((connected, ran), (Ok(()), Ok(())), "{name}");
    }
}
