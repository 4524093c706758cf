//! Services that are nodes on one store.

mod ends;
mod grants;
mod handed_over;
mod idle;
mod left_commands;
mod lost_replies;
mod missing_agents;
mod moved;
mod on_postgres;
mod orders;
mod outages;
mod scopes;
mod streams;
mod takeovers;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use super::{recovered::over, shared_store::SharedStores, *};
use forgeline_store::{LogKey, StoreError, StoredRun};
use forgeline_types::MessageRole;

/// Prints a line that must be seen although the test passes.
pub(crate) fn say(line: impl std::fmt::Display) {
    drop(std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!("{line}\n")));
}

/// Two nodes on one store, each with its routes.
struct TwoNodes {
    stores: Arc<SharedStores>,
    nodes: [(Service, Router); 2],
}

impl TwoNodes {
    /// Returns two nodes with these agents, which look after runs.
    async fn begin(agents: [Agent; 2]) -> Self {
        let stores = SharedStores::alternating();
        let nodes = agents.map(|agent| over(&stores.stores(), agent));
        for (service, _) in &nodes {
            assert_eq!(service.recover().await.unwrap(), Recovered::default());
        }
        Self { stores, nodes }
    }

    fn app(&self, at: usize) -> &Router {
        &self.nodes[at].1
    }

    /// Lets a node be dead for the other one.
    fn kill(&self, at: usize) {
        self.stores.kill(&self.nodes[at].0.0.lifecycle.node);
    }

    /// Returns `true` while a node holds a run.
    fn holds(&self, at: usize, run: &str) -> bool {
        let active = self.nodes[at].0.0.runs.active();
        active.find(&"team-a".into(), id_of(run)).is_some_and(|run| !run.has_ended())
    }

    /// Returns the record of a run.
    async fn record(&self, run: &str) -> StoredRun {
        self.stores.stores().runs.get(&LogKey::new("team-a", id_of(run))).await.unwrap()
    }

    /// Returns the node that owns a run.
    async fn owner(&self, run: &str) -> Option<usize> {
        let node = self.record(run).await.node?;
        self.nodes.iter().position(|(service, _)| service.0.lifecycle.node == node)
    }
}

/// Returns the id of a run, given its path.
fn id_of(run: &str) -> &str {
    run.rsplit('/').next().unwrap()
}

/// Waits until something is so.
async fn becomes(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(Duration::from_mins(2), wait).await.is_ok(), "{what} within 2 min");
}

/// Reads a run to its end; each event is there once, in order.
async fn whole(app: &Router, run: &str) -> Vec<Value> {
    let read = super::recovered::whole(app, run);
    let read = timeout(Duration::from_mins(2), read).await.expect("the run ends");
    assert!(read.iter().enumerate().all(|(at, event)| event["seq"] == json!(at)), "{read:?}");
    read
}

/// A tool that ends when it may, and counts how often it began.
#[derive(Debug, Default)]
struct SlowTool {
    begun: AtomicUsize,
    goes_on: Notify,
    is_dropped: AtomicBool,
}

/// Says that a call was dropped.
struct CallGuard(Arc<SlowTool>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::SeqCst);
    }
}

/// An agent that calls the tool once, and then says this.
fn working(tool: &Arc<SlowTool>, says: &'static str) -> Agent {
    let provider = ScriptedProvider::from_fn(move |asked: &Asked| {
        let said = asked.messages.iter().rev().find(|it| it.role == MessageRole::User);
        let has_result = asked.messages.last().is_some_and(|it| it.tool_results().next().is_some());
        let pays = said.is_some_and(|said| said.text().starts_with("Pay"));
        if pays && !has_result {
            return ScriptedTurn::new().text("Paying.").call("pay", json!({}));
        }
        ScriptedTurn::new().text(says)
    });
    let tool = Arc::clone(tool);
    let pay = tool_fn("pay", "Pays.", move |_: ToolContext, _: Value| {
        let guard = CallGuard(Arc::clone(&tool));
        async move {
            guard.0.begun.fetch_add(1, Ordering::SeqCst);
            guard.0.goes_on.notified().await;
            "paid"
        }
    });
    Agent::builder(provider).tool(pay).build().unwrap()
}

/// Waits until the tool works.
async fn works(tool: &SlowTool) {
    becomes("the tool begins", async || tool.begun.load(Ordering::SeqCst) > 0).await;
}
