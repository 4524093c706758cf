//! One node and two on `PostgreSQL` beside one on `SQLite`: a reader sees what is on the disk, in each of them.

use super::{
    Bench, Live, READERS, Result, live, live_at,
    process::{Process, ServedDatabase, Source},
};
use crate::postgres::{PostgresServer, programs};

/// Times that each is measured, in turn.
const TURNS: usize = 3;
/// Live runs.
const RUNS: usize = 5;

/// The settings of a server whose data is needed afterwards.
const DURABLE: [&str; 3] = ["fsync=on", "full_page_writes=on", "autovacuum=on"];

impl Bench<'_> {
    /// Measures readers of one node on `PostgreSQL`, and of a node that does not have the runs.
    pub(super) async fn nodes(&self) -> Result<()> {
        let Some(programs) = programs().pop() else { return Ok(()) };
        let server = PostgresServer::start(&programs, &DURABLE);
        let (mut file, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0..TURNS {
            file.push(live_at(&self.durable_service()?, RUNS, turn).await?);
            one.push(live_at(&self.node(&server.database())?, RUNS, turn).await?);
            let url = server.database();
            let (owner, other) = (self.node(&url)?, self.node(&url)?);
            two.push(live([&owner, &other], RUNS, turn).await?);
        }
        let file = Live::middle(&file);
        for (live, most, names, what) in [
            (
                one,
                2.0 * file.p50,
                ["lost_one_node", "p50_us_one_node", "p99_us_one_node", "cpu_us_one_node"],
                "one node on PostgreSQL",
            ),
            (
                two,
                5_000.0,
                ["lost_two_nodes", "p50_us_two_nodes", "p99_us_two_nodes", "cpu_us_two_nodes"],
                "a node that has not the runs",
            ),
        ] {
            let (live, count) = (Live::middle(&live), RUNS * READERS);
            let [lost, p50, p99, cpu] = names;
            let unit = format!("readers of {what} that did not get each event once");
            self.rows.add(lost, live.lost, Some(0.0), file.lost, &unit);
            let unit = |figure: &str| {
                format!(
                    "{figure}, {count} readers of {what} (floor: SQLite that waits for its disk)"
                )
            };
            self.rows.add(p50, live.p50, Some(most), file.p50, &unit("µs p50 from the model"));
            self.rows.add(p99, live.p99, Some(25_000.0), file.p99, &unit("µs p99 from the model"));
            self.rows.add(cpu, live.cpu, None, file.cpu, &unit("µs of CPU a delivered event"));
        }
        Ok(())
    }

    /// Starts a service on a file, each commit of which waits for the disk, as those of the databases do.
    fn durable_service(&self) -> Result<Process> {
        let file = self.new_file();
        let source = Source::Model(self.model.address);
        Process::service(self.binary, source, ServedDatabase::DurableFile(&file))
    }

    /// Starts a node.
    fn node(&self, url: &str) -> Result<Process> {
        Process::service(
            self.binary,
            Source::Model(self.model.address),
            ServedDatabase::Shared(url),
        )
    }
}
