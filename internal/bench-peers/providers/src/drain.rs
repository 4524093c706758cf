//! One client reads one answer in this process, and what that took.

use std::{fs, hint::black_box, process::exit, thread, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use stats_alloc::Region;
use tokio::runtime::Builder;

use crate::{
    ALLOCATOR, Result,
    answer::{Reading, body_bytes},
    clients::Client,
    report,
};

/// A client that takes longer does not finish; valgrind is slow.
const LONGEST: Duration = Duration::from_mins(10);

/// What a client reads goes through here.
#[derive(Debug)]
pub(crate) struct Drain {
    reading: Reading,
    body_bytes: usize,
    /// When the first came, in processor time: what it takes to build a client and to connect is not
    /// what is compared.
    first: Option<Duration>,
}

impl Drain {
    /// A piece of the answer's text.
    pub(crate) fn text(&mut self, text: &str) {
        self.begin();
        self.reading.add(black_box(text));
    }

    /// A piece of the body.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.begin();
        self.body_bytes += black_box(bytes).len();
    }

    fn begin(&mut self) {
        if self.first.is_none() {
            self.first = Some(processor_time());
        }
    }

    /// Whether all of an answer of `count` deltas came.
    fn is_whole(&self, count: usize) -> bool {
        self.reading.is_whole(count) || self.body_bytes == body_bytes(count)
    }
}

/// Lets `client` read `count` deltas from the server at `url` and prints how often it allocated, the
/// most bytes that were resident, and the nanoseconds of processor time since the first delta.
pub(crate) fn drain(client: Client, url: &str, count: usize) -> Result<()> {
    // The clients are built without a TLS of their own and look for the process's.
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "there is a TLS provider already")?;
    // No timer of the runtime's, which every client would then pay for.
    thread::spawn(|| {
        thread::sleep(LONGEST);
        report::complain("does not finish in ten minutes");
        exit(2);
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let base_url = format!("{url}/{count}/v1");
    let mut drain = Drain { reading: Reading::new(), body_bytes: 0, first: None };
    let region = Region::new(ALLOCATOR);
    runtime.block_on(client.read(&base_url, &mut drain))?;
    let change = region.change();
    let took = processor_time().saturating_sub(drain.first.ok_or("nothing came")?);
    if !drain.is_whole(count) {
        let Reading { deltas, bytes, is_right, .. } = drain.reading;
        let how = if is_right { "some are missing" } else { "the text differs" };
        return Err(format!("{deltas} of {count} deltas, {bytes} bytes: {how}").into());
    }
    let allocations = change.allocations + change.reallocations;
    report::say(&format!("{allocations} {} {}", peak_bytes()?, took.as_nanos()));
    Ok(())
}

/// Processor time of this process: what the server and neighbours take does not count.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// The most memory that was resident in this process; 0 where the system does not tell.
fn peak_bytes() -> Result<u64> {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return Ok(0) };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmHWM")?;
    Ok(kib.parse::<u64>()? * 1024)
}
