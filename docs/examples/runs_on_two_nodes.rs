#![expect(clippy::print_stdout, reason = "an example: it prints its address")]
//! Runs behind your own routes, on any number of nodes: one that dies leaves its runs to the others. `--postgres URL` shares them; else, they are in memory.

use std::{env, error::Error, pin::pin, time::Duration};

use axum::{Router, extract::Path, extract::State, routing::get, routing::post};
use axum::{response::sse::Event, response::sse::Sse};
use forgeline::store::{self, ConversationRecord, LogKey, LogRecord, NodeId};
use forgeline::store::{RunChange, RunProgress, StoreError, StoredRun, Stores};
use forgeline::{llm::demo::DemoProvider, prelude::*, server::Problem, server::RunJournal};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};

#[derive(Clone)]
struct AppNode(NodeId, Stores, Agent);

impl AppNode {
    /// Begins a run, which this node owns.
    async fn begin(self, id: String, input: String) -> Result<(), Problem> {
        let Self(node, stores, _) = &self;
        let run = StoredRun::new(LogKey::new("app", &*id), id, "ann", "main", 0).input(input);
        let conversation = ConversationRecord::new(run.conversation_key(), "ann", "main", 0);
        stores.conversations.begin(conversation).await?;
        stores.log.create(run.key.clone()).await?;
        stores.runs.begin(run.clone(), Some(node)).await?;
        let run = stores.runs.get(&run.key).await?;
        tokio::spawn(self.work(run));
        Ok(())
    }

    /// Works on a run from its journal on, until it ends or this node has lost it.
    async fn work(self, run: StoredRun) -> Result<(), Box<dyn Error + Send + Sync>> {
        let (Self(_, stores, agent), writer) = (self, run.writer());
        let conversation = agent.conversation().with_journal(RunJournal::new(&stores, &run));
        let mut events = conversation.resume_stream().await?;
        if events.is_none() && conversation.transcript().is_empty() {
            events = Some(conversation.run_stream(run.input.unwrap_or_default()));
        }
        let mut end = stores.log.read(&run.key, 0, usize::MAX).await?.next;
        let mut events = pin!(stream::iter(events).flatten());
        while let Some(envelope) = events.next().await {
            let record = LogRecord::new(envelope.event.kind(), serde_json::to_vec(&envelope)?);
            stores.log.append(&run.key, end, vec![record], Some(&writer)).await?;
            end += 1;
        }
        stores.log.close(&run.key, Some(&writer)).await?;
        Ok(stores.runs.change(&writer, RunChange::to(RunProgress::Completed, 0)).await?)
    }

    /// Says each second that this node lives, and takes over the runs of those that do not.
    async fn live(self) -> Result<(), StoreError> {
        let (runs, node) = (&self.1.runs, &self.0);
        loop {
            runs.beat(node).await?;
            runs.reap(node).await?;
            let taken = runs.claim(node, 8, 0).await?.into_iter();
            taken.for_each(|run| drop(tokio::spawn(self.clone().work(run))));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Sends the events of a run, of any node, from a number on.
    fn events(self, id: String, from: u64) -> Sse<impl Stream<Item = Result<Event, StoreError>>> {
        let records = store::follow(self.1.log, LogKey::new("app", id), from);
        Sse::new(records.map_ok(|(number, record)| {
            Event::default().id(number.to_string()).data(String::from_utf8_lossy(&record.data))
        }))
    }
}

fn app(node: AppNode) -> Router {
    let begin = |State(node): State<AppNode>, Path(id), input| node.begin(id, input);
    let events = async |State(node): State<AppNode>, Path((id, from))| node.events(id, from);
    Router::new()
        .route("/runs/{id}", post(begin))
        .route("/runs/{id}/{from}", get(events))
        .with_state(node)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let stores = match env::args().skip_while(|it| it != "--postgres").nth(1) {
        #[cfg(feature = "postgres")]
        Some(url) => {
            Stores::of(store::PostgresStore::connect(store::PostgresOptions::new(url)).await?)
        }
        _ => Stores::in_memory(),
    };
    let agent = Agent::builder(DemoProvider::new()).tool(Calculator).event_capacity(1).build()?;
    let node = AppNode(NodeId::random(), stores, agent);
    let serving =
        axum::serve(tokio::net::TcpListener::bind("127.0.0.1:0").await?, app(node.clone()));
    println!("http://{}/runs/1", serving.local_addr()?);
    tokio::select! { served = serving.into_future() => Ok(served?), died = node.live() => Ok(died?) }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt as _;

    use super::*;

    const TASK: &str = "What is 6 * 7?";

    fn nodes() -> [AppNode; 2] {
        let agent = Agent::builder(DemoProvider::new()).tool(Calculator).event_capacity(1);
        let (agent, stores) = (agent.build().unwrap(), Stores::in_memory());
        ["a", "b"].map(|name| AppNode(NodeId::new(name), stores.clone(), agent.clone()))
    }

    /// Reads events of the run, from a number on.
    async fn read(node: &AppNode, from: u64, most: usize) -> Vec<Envelope> {
        let records = store::follow(node.1.log.clone(), LogKey::new("app", "1"), from);
        let events = records.enumerate().take(most).map(|(at, record)| {
            let (number, record) = record.unwrap();
            assert_eq!(number, from + at as u64);
            serde_json::from_slice(&record.data).unwrap()
        });
        events.collect().await
    }

    /// Returns what a reader has in the end: an event replaces what it has from its `seq` on.
    fn whole(events: Vec<Envelope>) -> Vec<Envelope> {
        let mut all: Vec<Envelope> = Vec::new();
        for event in events {
            all.retain(|earlier| earlier.seq < event.seq);
            assert_eq!(event.seq, all.len() as u64, "no event is missing");
            all.push(event);
        }
        all
    }

    fn text(events: &[Envelope]) -> String {
        events.iter().map(|event| event.event.text()).collect()
    }

    /// Adds a run of a node.
    async fn run_of(node: &AppNode) -> StoredRun {
        let AppNode(id, stores, _) = node;
        let run = StoredRun::new(LogKey::new("app", "1"), "1", "ann", "main", 0).input(TASK);
        let conversation = ConversationRecord::new(run.conversation_key(), "ann", "main", 0);
        stores.conversations.begin(conversation).await.unwrap();
        stores.log.create(run.key.clone()).await.unwrap();
        stores.runs.begin(run.clone(), Some(id)).await.unwrap();
        stores.runs.get(&run.key).await.unwrap()
    }

    #[tokio::test]
    async fn a_node_that_dies_at_any_event_leaves_its_run_to_another_one() {
        let [undisturbed, _] = nodes();
        undisturbed.clone().work(run_of(&undisturbed).await).await.unwrap();
        let want = read(&undisturbed, 0, usize::MAX).await;
        assert!(text(&want).ends_with("6 * 7 = 42"), "{want:?}");
        let mut moments = 0;
        for moment in 1..want.len() {
            let [a, b] = nodes();
            let run = run_of(&a).await;
            tokio::select! {
                biased;
                seen = read(&b, 0, moment) => moments += usize::from(seen.len() == moment),
                // The last events come together.
                ended = a.work(run) => ended.unwrap(),
            }
            let living = tokio::spawn(b.clone().live());
            let all = whole(read(&b, 0, usize::MAX).await);
            living.abort();
            assert_eq!(text(&all), text(&want), "at {moment}");
        }
        assert!(moments > 20, "{moments}");
    }

    #[tokio::test]
    async fn a_node_that_has_lost_its_run_writes_nothing_more() {
        let [a, b] = nodes();
        let run = run_of(&a).await;
        let mut sleeping = pin!(a.work(run));
        tokio::select! {
            biased;
            _ = read(&b, 0, 3) => {}
            ended = &mut sleeping => panic!("it has ended: {ended:?}"),
        }
        b.1.runs.reap(&b.0).await.unwrap();
        let taken = b.1.runs.claim(&b.0, 8, 0).await.unwrap().remove(0);
        b.clone().work(taken).await.unwrap();
        let all = read(&b, 0, usize::MAX).await;
        let error = sleeping.await.unwrap_err().to_string();
        assert!(error.contains("claim 1 of run `1` no longer holds"), "{error}");
        assert_eq!(read(&b, 0, usize::MAX).await, all);
        assert!(text(&whole(all)).ends_with("6 * 7 = 42"));
    }

    #[tokio::test]
    async fn a_reader_of_another_node_goes_on_at_any_number() {
        let [a, b] = nodes();
        let begun = Request::post("/runs/1").body(Body::from(TASK)).unwrap();
        assert_eq!(app(a).oneshot(begun).await.unwrap().status(), 200);
        let read = async |from: usize| {
            let uri = format!("/runs/1/{from}");
            let request = Request::get(uri).body(Body::empty()).unwrap();
            let body = app(b.clone()).oneshot(request).await.unwrap().into_body();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            String::from_utf8(body.to_vec()).unwrap()
        };
        let whole = read(0).await;
        let events: Vec<_> = whole.split_inclusive("\n\n").collect();
        for from in 0..events.len() {
            assert_eq!(read(from).await, events[from..].concat(), "from {from}");
        }
    }
}
