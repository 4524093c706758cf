//! Ctrl-C and SIGTERM: one listener for the whole program, on a thread of its own.

use std::{
    fmt, process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use forgeline::agent::CancellationToken;
use tokio::{runtime, time};

use crate::{exit::Exit, terminal::TerminalState};

/// The time for output that is not taken, once the user has stopped the answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time for an answer to end, before the program ends without it.
const GRACE: Duration = Duration::from_millis(900);

/// The signals of the whole program.
///
/// The first signal stops the answer that is being given; the next one, or one when there is none, ends
/// the program.
#[derive(Debug, Clone)]
pub struct InterruptHandler(Arc<Mutex<InterruptState>>);

#[derive(Debug)]
struct InterruptState {
    /// The terminal before the program changed it.
    terminal: TerminalState,
    /// What can be stopped; `None` when a signal ends the program.
    current: Option<StopTarget>,
    /// `true` once SIGTERM asked the program to leave.
    leaves: bool,
    /// What a program that a signal ends leaves behind otherwise.
    at_exit: Vec<AtExit>,
}

/// Something to do before the program exits.
struct AtExit(Box<dyn Fn() + Send>);

impl fmt::Debug for AtExit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AtExit")
    }
}

#[derive(Debug, Clone)]
struct StopTarget {
    stopped: CancellationToken,
    run: Option<CancellationToken>,
    /// `true` when the program ends with it, late or not.
    is_last: bool,
}

/// Something that the user can stop, while it is held.
#[derive(Debug)]
pub struct StopHandle {
    interrupts: InterruptHandler,
    stopped: CancellationToken,
}

impl InterruptHandler {
    fn new() -> Self {
        let state = InterruptState {
            terminal: TerminalState::of_stdin(),
            current: None,
            leaves: false,
            at_exit: Vec::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// When the system refuses the listeners or the thread.
    pub fn listen() -> anyhow::Result<Self> {
        let interrupts = Self::new();
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        // Registered before the thread begins, so that no signal has its default effect any more.
        let mut signals = {
            let _context = runtime.enter();
            SignalListener::new().context("cannot listen for Ctrl-C")?
        };
        let listener = interrupts.clone();
        let listen = move || {
            runtime.block_on(async {
                loop {
                    let asks_to_leave = signals.next().await;
                    listener.signal(asks_to_leave);
                }
            });
        };
        thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        Ok(interrupts)
    }

    /// Begins something that a signal stops; with `is_last`, the program ends with it.
    #[must_use]
    pub fn begin(&self, is_last: bool) -> StopHandle {
        let stopped = CancellationToken::new();
        let current = StopTarget { stopped: stopped.clone(), run: None, is_last };
        self.state().current = Some(current);
        StopHandle { interrupts: self.clone(), stopped }
    }

    /// Returns `true` once SIGTERM asked the program to leave.
    #[must_use]
    pub fn asks_to_leave(&self) -> bool {
        self.state().leaves
    }

    /// Does this, too, before a signal ends the program.
    pub fn at_exit(&self, work: impl Fn() + Send + 'static) {
        self.state().at_exit.push(AtExit(Box::new(work)));
    }

    fn state(&self) -> MutexGuard<'_, InterruptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, asks_to_leave: bool) {
        let mut state = self.state();
        state.leaves |= asks_to_leave;
        let current = state.current.clone().filter(|current| !current.stopped.is_cancelled());
        let Some(StopTarget { stopped, run, is_last }) = current else {
            drop(state);
            self.exit()
        };
        // Under the lock: whoever ends it afterwards knows.
        stopped.cancel();
        drop(state);
        if let Some(run) = run {
            run.cancel();
        }
        if is_last {
            let this = self.clone();
            tokio::spawn(async move {
                time::sleep(GRACE).await;
                // What is left to do once the answer has ended, such as a recording, may take longer.
                if this.state().current.is_some() {
                    this.exit();
                }
            });
        }
    }

    fn exit(&self) -> ! {
        let state = self.state();
        state.terminal.restore();
        state.at_exit.iter().for_each(|work| (work.0)());
        process::exit(Exit::Interrupted as i32)
    }
}

impl StopHandle {
    /// Stops this run too; at once, when it is stopped already.
    pub fn include(&self, run: CancellationToken) {
        let mut state = self.interrupts.state();
        if self.stopped.is_cancelled() {
            run.cancel();
        }
        if let Some(current) = &mut state.current {
            current.run = Some(run);
        }
    }

    /// Ends it and returns `true` when the user stopped it; a signal that comes later does not count
    /// for it.
    #[must_use]
    pub fn end(self) -> bool {
        let mut state = self.interrupts.state();
        state.current = None;
        drop(state);
        self.stopped.is_cancelled()
    }

    /// Waits until the user stops it.
    pub async fn stopped(&self) {
        self.stopped.cancelled().await;
    }

    /// Waits for `output`; once the user stopped it, for half a second more. `None`: it was not taken.
    pub async fn patiently<T>(&self, output: impl Future<Output = T>) -> Option<T> {
        let too_long = async {
            self.stopped().await;
            time::sleep(PATIENCE).await;
        };
        tokio::select! {
            biased;
            done = output => Some(done),
            () = too_long => None,
        }
    }
}

impl Drop for StopHandle {
    fn drop(&mut self) {
        self.interrupts.state().current = None;
    }
}

/// The signals that stop things.
#[cfg(unix)]
struct SignalListener {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl SignalListener {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    /// Waits for the next signal; `true` for one that asks the program to leave.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => false,
            _ = self.terminate.recv() => true,
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct SignalListener;

#[cfg(not(unix))]
impl SignalListener {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> bool {
        // Without a listener there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: R2
    #[tokio::test]
    async fn a_signal_stops_what_is_going_on_and_the_run_that_begins_after_it() {
        let interrupts = InterruptHandler::new();
        let stop = interrupts.begin(false);
        let (run, late) = (CancellationToken::new(), CancellationToken::new());
        stop.include(run.clone());
        assert!(!run.is_cancelled());
        interrupts.signal(false);
        assert!(run.is_cancelled() && !interrupts.asks_to_leave());
        stop.include(late.clone());
        assert!(late.is_cancelled());
        assert!(stop.end());
        assert!(!interrupts.begin(false).end(), "each answer anew");
        let next = interrupts.begin(false);
        interrupts.signal(true);
        assert!(next.end() && interrupts.asks_to_leave());
    }

    // Found: R2
    #[tokio::test(start_paused = true)]
    async fn output_that_is_not_taken_is_waited_for_until_shortly_after_the_signal() {
        let interrupts = InterruptHandler::new();
        let stop = interrupts.begin(false);
        assert_eq!(stop.patiently(std::future::ready(1)).await, Some(1));
        interrupts.signal(false);
        let start = time::Instant::now();
        assert_eq!(stop.patiently(std::future::ready(2)).await, Some(2), "what can go goes");
        assert_eq!(stop.patiently(std::future::pending::<()>()).await, None);
        assert_eq!(start.elapsed(), PATIENCE);
    }
}
