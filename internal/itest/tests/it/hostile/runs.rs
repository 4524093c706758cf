//! The limit of a run, whatever the server does.

use std::{sync::Arc, time::Duration};

use forgeline::{
    agent::{Agent, tools::Calculator},
    llm::transport::Transport,
    types::ErrorCode,
};
use tokio::time::Instant;

use super::{
    SECOND, WIRES, Wire, begun,
    server::{Answer, Body, End, Server, ok},
};

/// How often a piece comes again that never ends.
const EVER: usize = 1 << 24;
const LIMIT: Duration = Duration::from_secs(7);

/// A server that answers so, and what of a text has arrived.
type Case = (&'static str, fn(&Wire) -> Vec<Answer>, &'static str);

#[rustfmt::skip]
const CASES: [Case; 8] = [
    ("no head",             |_| vec![Answer::Silent], ""),
    ("no connection",       |_| vec![Answer::Unreachable(20 * SECOND)], ""),
    ("no body",             |_| vec![ok(Body::new("").end(End::Stalls))], ""),
    ("silence",             |wire| vec![ok(Body::new(begun(wire)).end(End::Stalls))], "kept"),
    ("comments for ever",   |wire| vec![ok(Body::new(begun(wire)).again(wire.comment, EVER).every(SECOND))], "kept"),
    ("words for ever",      |wire| vec![ok(Body::new(begun(wire)).again(wire.delta("."), EVER).every(SECOND))], "kept."),
    ("a wait for a retry",  |_| vec![Answer::Status(503, vec![("retry-after", "59".to_owned())], Body::new(""))], ""),
    ("calls for ever",      |wire| {
        let call = wire.call("1", "c", "calculator", r#"{"expression":"6*7"}"#);
        let body = Body::new(format!("{}{call}{}", wire.begin, wire.end)).every(2 * SECOND);
        vec![ok(body); 10]
    }, ""),
];

// Found: R4
#[tokio::test(start_paused = true)]
async fn a_run_ends_at_its_limit_whatever_the_server_does() {
    for wire in WIRES {
        for (case, answers, text) in CASES {
            let name = format!("{}, {case}", wire.name);
            let server = Server::new(answers(wire));
            let transport: Arc<dyn Transport> = Arc::clone(&server) as _;
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup
            });
            let agent = Agent::builder(provider).tool(Calculator).max_turns(20);
            let agent = agent.run_timeout(LIMIT).build().unwrap();
            let start = Instant::now();
            let failed = agent.run("Go.").await.unwrap_err();
            let took = start.elapsed();
            assert!((LIMIT..LIMIT + SECOND).contains(&took), "{name}: {took:?}");
            assert_eq!(failed.error.code, ErrorCode::Timeout, "{name}: {failed:?}");
            assert!(failed.outcome.text.starts_with(text), "{name}: {failed:?}");
            assert!(server.asked() <= 4, "{name}: {}", server.asked());
        }
    }
}
