//! Nodes on one database, with a proxy in front.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{HttpReply, NodeProcess, NodeProxy, PacedModel, RunReader, ask, database::BenchServer};
use crate::{
    message_proxy::MessageProxy,
    postgres::{self, PostgresServer, PostgresSession},
};

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pause between two looks into the database.
const LOOK: Duration = Duration::from_millis(200);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Nodes of the service on one database. The agent `paced` asks a [`PacedModel`], the agent `demo` is the demo model with its tools, and `worker` may run a program.
#[derive(Debug)]
pub struct NodeBench {
    server: BenchServer,
    program: PathBuf,
    folder: PathBuf,
    /// The configuration of the nodes, which names the URL of their database.
    config: String,
    url: String,
    database: String,
    model: PacedModel,
    nodes: Vec<Option<NodeProcess>>,
    proxy: NodeProxy,
}

impl NodeBench {
    /// Starts nodes of this program on a new database.
    ///
    /// Returns `None` and prints the reason when `PostgreSQL` is not installed.
    ///
    /// # Panics
    ///
    /// Panics when a node does not start, and when `PostgreSQL` is not installed although the environment variable `FORGELINE_REQUIRE_POSTGRES` is set.
    #[must_use]
    pub fn start(program: &Path, count: usize) -> Option<Self> {
        Some(Self::on(BenchServer::Shared(PostgresServer::shared()?), program, count))
    }

    /// Starts nodes of this program on a server of their own, which [`database`](Self::database) restarts and kills.
    ///
    /// Returns `None` and prints the reason when `PostgreSQL` is not installed.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_apart(program: &Path, count: usize) -> Option<Self> {
        Self::start_with(program, count, &[])
    }

    /// Starts nodes of this program as [`start_apart`](Self::start_apart) does, on a server with additional settings such as `autovacuum=on`.
    ///
    /// Returns `None` and prints the reason when `PostgreSQL` is not installed.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(program: &Path, count: usize, settings: &[&str]) -> Option<Self> {
        let programs = postgres::programs();
        let server = PostgresServer::start(programs.last()?, settings);
        Some(Self::on(BenchServer::Own(Box::new(server)), program, count))
    }

    /// Starts nodes of this program on a server with a standby, whose URL names both.
    ///
    /// Returns `None` and prints the reason when `PostgreSQL` is not installed.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_replicated(program: &Path, count: usize) -> Option<Self> {
        let programs = postgres::programs();
        let server = PostgresServer::start(programs.last()?, &[]);
        let standby = Box::new(server.standby());
        Some(Self::on(BenchServer::Pair(Box::new(server), standby), program, count))
    }

    fn on(server: BenchServer, program: &Path, count: usize) -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("forgeline-nodes-{}-{number}", std::process::id()));
        std::fs::create_dir_all(folder.join("work")).unwrap();
        let model = PacedModel::start();
        let url = server.database();
        let config = format!(
            "postgres = {:?}\n[limits]\nruns_per_minute = 10000\n[agents.paced]\nprovider = \"openai\"\nbase_url = {:?}\nmodel = \"paced\"\nno_tools = true\n[agents.demo]\nprovider = \"demo\"\n[agents.worker]\nprovider = \"openai\"\nbase_url = {:?}\nmodel = \"paced\"\nroot = {:?}\nallow_command = [\"sh work.sh\"]\napprove = \"command.run\"\n",
            url,
            model.url(),
            model.url(),
            folder.join("work").display().to_string(),
        );
        std::fs::write(folder.join("nodes.toml"), &config).unwrap();
        let database = config.split(['/', '?']).find(|part| part.starts_with("test_"));
        let database = database.unwrap().to_owned();
        let program = program.to_owned();
        let proxy = NodeProxy::start(Vec::new());
        let nodes = Vec::new();
        let mut bench =
            Self { server, program, folder, config, url, database, model, nodes, proxy };
        for _ in 0..count {
            bench.add();
        }
        bench
    }

    /// Starts one more node, and returns its number.
    ///
    /// # Panics
    ///
    /// Panics when it does not start.
    pub fn add(&mut self) -> usize {
        self.add_with("nodes.toml")
    }

    /// Starts one more node, which reaches the database through a proxy; returns its number and the proxy.
    ///
    /// # Panics
    ///
    /// Panics when it does not start.
    pub fn add_behind_proxy(&mut self) -> (usize, MessageProxy) {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let proxy = MessageProxy::start(&format!("node{number}"), self.server.get().folder());
        let name = format!("nodes-{number}.toml");
        let config = self.config.replace(&self.url, &proxy.url(&self.url));
        std::fs::write(self.folder.join(&name), config).unwrap();
        (self.add_with(&name), proxy)
    }

    /// Starts one more node, of another program, and returns its number.
    ///
    /// # Panics
    ///
    /// Panics when it does not start.
    pub fn add_program(&mut self, program: &Path) -> usize {
        self.push(program, "nodes.toml")
    }

    fn add_with(&mut self, config: &str) -> usize {
        let program = self.program.clone();
        self.push(&program, config)
    }

    fn push(&mut self, program: &Path, config: &str) -> usize {
        let config = self.folder.join(config);
        let config = config.to_str().unwrap();
        self.nodes.push(Some(NodeProcess::start(program, &["--config", config])));
        self.route();
        self.nodes.len() - 1
    }

    /// Returns the folder in which the agent `worker` may run `sh work.sh` unasked.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Returns what the server has written into its log.
    ///
    /// # Panics
    ///
    /// Panics when it cannot be read.
    #[must_use]
    pub fn server_log(&self) -> String {
        self.server.get().log()
    }

    /// Returns the server of [`start_apart`](Self::start_apart) or [`start_replicated`](Self::start_replicated).
    ///
    /// # Panics
    ///
    /// Panics when other tests use the server.
    pub fn database(&mut self) -> &mut BenchServer {
        assert!(!matches!(self.server, BenchServer::Shared(_)), "the server is shared");
        &mut self.server
    }

    /// Returns a node.
    ///
    /// # Panics
    ///
    /// Panics when it was killed or has ended.
    #[must_use]
    pub fn node(&self, number: usize) -> &NodeProcess {
        self.nodes[number].as_ref().unwrap()
    }

    /// Returns the address of a node.
    #[must_use]
    pub fn address(&self, number: usize) -> SocketAddr {
        self.node(number).address()
    }

    /// Returns the addresses of the nodes that live.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().flatten().map(NodeProcess::address).collect()
    }

    /// Returns the proxy.
    #[must_use]
    pub fn proxy(&self) -> &NodeProxy {
        &self.proxy
    }

    /// Returns the model of the agent `paced`.
    #[must_use]
    pub fn model(&self) -> &PacedModel {
        &self.model
    }

    /// Kills a node as `kill -9` does.
    ///
    /// # Panics
    ///
    /// Panics when it has ended already.
    pub fn kill(&mut self, number: usize) {
        self.nodes[number].take().unwrap().kill();
        self.route();
    }

    /// Asks a node to end, sends it nothing more, and waits for its end; returns its exit code and what it has said.
    ///
    /// # Panics
    ///
    /// As [`terminate`](Self::terminate).
    pub fn terminate_node(&mut self, number: usize) -> (Option<i32>, String) {
        let mut node = self.nodes[number].take().unwrap();
        self.route();
        (node.terminate(), node.log())
    }

    /// Asks a node to end, and returns its exit code.
    ///
    /// # Panics
    ///
    /// Panics when it has ended already, or does not end within 30 s.
    pub fn terminate(&mut self, number: usize) -> Option<i32> {
        self.terminate_node(number).0
    }

    /// Waits until each node may take the runs of others, which one whose session is young does not.
    ///
    /// # Panics
    ///
    /// Panics when that takes longer than a minute.
    pub fn settle(&self) {
        let young = "SELECT count(*) FROM forgeline.node WHERE until > clock_timestamp() \
                     AND session_at > clock_timestamp() - interval '10.2 s'";
        let begun = Instant::now();
        while self.sql(young) != "0" {
            assert!(begun.elapsed() < PATIENCE, "the nodes do not settle");
            thread::park_timeout(LOOK);
        }
    }

    /// Asks a node to end if it still runs, and waits for that.
    ///
    /// # Panics
    ///
    /// Panics when it does not end within 30 s.
    pub fn end(&mut self, number: usize) {
        if let Some(mut node) = self.nodes[number].take()
            && node.is_running()
        {
            node.terminate();
        }
    }

    /// Executes a statement in the database of the nodes.
    ///
    /// # Panics
    ///
    /// Panics when it fails.
    #[must_use]
    pub fn sql(&self, sql: &str) -> String {
        self.server.get().sql(&self.database, sql)
    }

    /// Waits until a query in the database of the nodes has these rows as its result.
    ///
    /// # Panics
    ///
    /// Panics when they have not come within 30 s, or when the query fails.
    pub fn wait_for(&self, sql: &str, expected: &str) {
        self.server.get().wait_for(&self.database, sql, expected);
    }

    /// Opens a session in the database of the nodes, for a transaction.
    #[must_use]
    pub fn session(&self) -> PostgresSession {
        self.server.get().session(&self.database)
    }

    /// Ends all sessions of the nodes, and returns their number.
    ///
    /// # Panics
    ///
    /// Panics when the server does not say so.
    #[must_use]
    pub fn cut_sessions(&self) -> usize {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'forgeline'";
        self.sql(sql).parse().unwrap()
    }

    /// Sends a request to an address.
    ///
    /// # Panics
    ///
    /// Panics when there is no response.
    #[must_use]
    pub fn post(&self, to: SocketAddr, path: &str, body: &Value) -> HttpReply {
        ask(to, ["POST", path], "", Some(body), PATIENCE).unwrap()
    }

    /// Gets what is at a path of an address.
    ///
    /// # Panics
    ///
    /// Panics when there is no response.
    #[must_use]
    pub fn get(&self, to: SocketAddr, path: &str) -> HttpReply {
        ask(to, ["GET", path], "", None, PATIENCE).unwrap()
    }

    /// Begins a run of an agent at an address, and returns its id.
    ///
    /// # Panics
    ///
    /// Panics when it is refused.
    #[must_use]
    pub fn begin(&self, to: SocketAddr, agent: &str, input: &str) -> String {
        let reply = self.post(to, "/v1/runs", &json!({ "agent": agent, "input": input }));
        assert_eq!(reply.status, 202, "{reply:?}");
        reply.json()["run_id"].as_str().unwrap().to_owned()
    }

    /// Returns a reader of a run at these addresses in turn.
    #[must_use]
    pub fn reader(&self, nodes: Vec<SocketAddr>, run: &str) -> RunReader {
        RunReader::new(nodes, run, PATIENCE)
    }

    fn route(&self) {
        self.proxy.set_nodes(self.addresses());
    }
}

impl Drop for NodeBench {
    fn drop(&mut self) {
        self.nodes.clear();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
