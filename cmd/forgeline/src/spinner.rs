//! The spinner of a terminal.

use std::{
    io::{self, Write as _},
    time::{Duration, Instant},
};

/// The time without output before the spinner shows.
const QUIET: Duration = Duration::from_millis(250);

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The interval between two frames.
pub const TURN: Duration = Duration::from_millis(100);

/// A line on stderr with the elapsed time; only on a terminal.
#[derive(Debug)]
pub struct Spinner {
    sight: Sight,
    since: Instant,
    label: String,
}

/// The visibility of the spinner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// Not on a terminal.
    Never,
    /// The spinner is not on the screen.
    Hidden,
    /// The spinner is on the screen, on the line of the cursor.
    Shown,
}

impl Spinner {
    /// Returns a spinner that shows nothing unless `watched`.
    #[must_use]
    pub fn new(watched: bool) -> Self {
        let sight = if watched { Sight::Hidden } else { Sight::Never };
        Self { sight, since: Instant::now(), label: String::new() }
    }

    /// Starts to wait for something else.
    pub fn wait_for(&mut self, label: String) {
        self.label = label;
        self.since = Instant::now();
    }

    /// Removes the spinner from the screen: output arrived.
    pub fn clear(&mut self) {
        if self.sight == Sight::Shown {
            self.sight = Sight::Hidden;
            put("\r\u{1b}[2K");
        }
        self.since = Instant::now();
    }

    /// Draws the spinner, when it is time for it.
    pub fn turn(&mut self) {
        let elapsed = self.since.elapsed();
        if self.sight != Sight::Never && elapsed >= QUIET {
            self.sight = Sight::Shown;
            put(&format!("\r\u{1b}[2K\u{1b}[2m{}\u{1b}[0m", frame(&self.label, elapsed)));
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}

/// One picture of the spinner.
fn frame(label: &str, elapsed: Duration) -> String {
    let turn = elapsed.as_millis() / TURN.as_millis();
    let at = usize::try_from(turn % FRAMES.len() as u128).unwrap_or_default();
    let sign = FRAMES.get(at).copied().unwrap_or_default();
    format!("{sign} {label} {}.{} s", elapsed.as_secs(), elapsed.subsec_millis() / 100)
}

/// Writes to stderr. A spinner that cannot be drawn does not stop the run.
fn put(text: &str) {
    let mut stderr = io::stderr().lock();
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elapsed_time_is_shown_in_tenths() {
        assert_eq!(frame("waiting", Duration::from_millis(1_250)), "⠹ waiting 1.2 s");
        assert_eq!(frame("x", Duration::ZERO), "⠋ x 0.0 s");
    }
}
