//! Planted keys are nowhere to be found: not in logs, not in Debug, not in errors, not in events.

use std::{
    fmt::{self, Write as _},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use forgeline::{
    agent::Agent,
    llm::{
        Provider, ProviderError, Request, RetryPolicy,
        transport::{HttpRequest, HttpResponse, HttpTransport, Transport, TransportError},
    },
};
use forgeline_testkit::server::{ScriptedServer, Step};
use futures_util::{StreamExt as _, future::BoxFuture};
use tracing::{Event, Metadata, Subscriber, field::Visit, span};

use super::wires::{KEY, WIRES, Wire, transport};

/// A header's, beside [`KEY`].
const HEADER: &str = "hdr-planted-77aa";

/// What an address holds before its host, and what of the whole address is secret: a password, a
/// query's value, a user without a password, and the headers that users become.
const PLANTED: [(&str, [&str; 3]); 2] = [
    ("me:pw-planted-55bb", ["pw-planted-55bb", "query-planted-33cc", "bWU6cHctcGxhbnRlZC01NWJi"]),
    ("usr-planted-11dd", ["usr-planted-11dd", "query-planted-33cc", "dXNyLXBsYW50ZWQtMTFkZDo="]),
];

/// Shows each request before it is sent.
struct Showing(HttpTransport, Arc<Mutex<String>>);

impl Transport for Showing {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        write!(self.1.lock().unwrap(), "\n{request:?}").unwrap();
        self.0.send(request)
    }
}

/// Keeps every log line of every crate.
#[derive(Clone, Default)]
pub(super) struct Logs(pub(super) Arc<Mutex<String>>, Arc<AtomicU64>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Logs {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let mut logs = self.0.lock().unwrap();
        logs.push_str(attributes.metadata().name());
        attributes.record(&mut Fields(&mut logs));
        span::Id::from_u64(1 + self.1.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Fields(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut logs = self.0.lock().unwrap();
        write!(logs, "\n{}", event.metadata().target()).unwrap();
        event.record(&mut Fields(&mut logs));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Everything that the library shows of one request and of one run of an agent.
async fn shown(wire: &Wire, url: &str) -> String {
    let requests = Arc::default();
    let transport = transport();
    let transport: Arc<dyn Transport> = Arc::new(Showing(transport, Arc::clone(&requests)));
    let (provider, mut shown) = wire.shown(url, &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup.headers = vec![("x-extra", HEADER.to_owned())];
        setup.retry = RetryPolicy::NONE;
        setup
    });
    let leaked = |error: ProviderError| {
        let data = error.to_agent_error();
        format!("\n{error} {error:?} {data} {data:?} {:?}", error.raw())
    };
    match provider.stream_completion(Request::prompt("x")).await {
        Err(failed) => shown.push_str(&leaked(failed)),
        Ok(mut chunks) => {
            while let Some(item) = chunks.next().await {
                match item {
                    Err(failed) => shown.push_str(&leaked(failed)),
                    Ok(chunk) => write!(shown, "\n{chunk:?}").unwrap(),
                }
            }
        }
    }
    match provider.health().await {
        Ok(health) => write!(shown, "\n{health:?}").unwrap(),
        Err(failed) => write!(shown, "\n{failed} {failed:?}").unwrap(),
    }
    let agent = Agent::builder(provider).build().unwrap();
    let mut run = agent.run_stream("x");
    while let Some(event) = run.next().await {
        write!(shown, "\n{event:?} {}", serde_json::to_string(&event).unwrap()).unwrap();
    }
    match run.outcome().await {
        Ok(outcome) => write!(shown, "\n{outcome:?}").unwrap(),
        Err(failed) => write!(shown, "\n{failed} {failed:?} {agent:?}").unwrap(),
    }
    let requests = requests.lock().unwrap();
    assert!(requests.contains("key=…"), "no request was shown: {requests}");
    shown + &requests
}

#[tokio::test]
async fn planted_keys_are_nowhere_to_be_found() {
    let logs = Logs::default();
    let guard = tracing::subscriber::set_default(logs.clone());
    let typed = |status, name, value: &str| Step::Head(status, vec![(name, value.to_owned())]);
    let json = |status| typed(status, "content-type", "application/json");
    let mut searched = 0;
    for (wire, (user, secrets)) in WIRES.iter().flat_map(|wire| PLANTED.map(|user| (wire, user))) {
        let planted = [&[KEY, HEADER][..], &secrets].concat();
        let leaked = planted.join(" and ");
        let error = format!(
            "{{\"error\":{{\"type\":\"e\",\"code\":\"{leaked}\",\"message\":\"{leaked}\"}}}}"
        );
        let whole = format!("{}{}{}", wire.begin, wire.delta("fine"), wire.end);
        let begun = format!("{}{}", wire.begin, wire.delta("fine"));
        #[rustfmt::skip]
        let cases = [
            ("an answer",        vec![Step::stream(), Step::chunk(whole), Step::End]),
            ("broken off",       vec![Step::stream(), Step::chunk(begun.clone()), Step::Reset]),
            ("401",              vec![json(401), Step::chunk(error.clone()), Step::End]),
            ("500, words",       vec![json(500), Step::chunk(leaked.clone()), Step::End]),
            ("a redirect",       vec![typed(302, "location", &format!("https://e/{leaked}?t={leaked}")), Step::End]),
            ("an id",            vec![typed(429, "x-request-id", &leaked), Step::End]),
            ("error in 200",     vec![Step::stream(), Step::chunk(begun + "event: error\ndata: " + &error + "\n\n"), Step::End]),
            ("error as 200",     vec![json(200), Step::chunk(error.clone()), Step::End]),
            ("no answer",        vec![Step::stream(), Step::chunk(leaked.clone()), Step::End]),
        ];
        for (case, script) in cases {
            // The request, the health check and the agent's request.
            let server = ScriptedServer::start(vec![script.clone(), script.clone(), script]).await;
            let address = server.url().replace("http://", "");
            let url = format!("http://{user}@{address}/v1?key={}", secrets[1]);
            let shown = shown(wire, &url).await;
            searched += shown.len();
            for key in &planted {
                // Nor the beginning of one that was cut.
                assert!(
                    !shown.contains(key.get(..8).unwrap()),
                    "{}, {case}: {key} in {shown}",
                    wire.name
                );
            }
        }
    }
    drop(guard);
    let logs = logs.0.lock().unwrap();
    assert!(logs.len() > 1000, "nothing was logged: {logs}");
    let in_urls = PLANTED.iter().flat_map(|(_, secrets)| secrets);
    for key in [KEY, HEADER].iter().chain(in_urls) {
        let found = logs.lines().find(|line| line.contains(key));
        assert_eq!(found, None, "{key} was logged");
    }
    forgeline_testkit::say(format!(
        "searched {searched} bytes of output and {} bytes of logs",
        logs.len()
    ));
}
