//! The spinner of a terminal.

use std::time::{Duration, Instant};

/// The time without output before the spinner shows.
const QUIET: Duration = Duration::from_millis(250);

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The interval between two frames.
pub const TURN: Duration = Duration::from_millis(100);

/// A line on stderr with the elapsed time; only on a terminal.
#[derive(Debug)]
pub struct Spinner {
    sight: SpinnerVisibility,
    since: Instant,
    label: String,
}

/// The visibility of the spinner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpinnerVisibility {
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
        let sight = if watched { SpinnerVisibility::Hidden } else { SpinnerVisibility::Never };
        Self { sight, since: Instant::now(), label: String::new() }
    }

    /// Starts to wait for something else.
    pub fn wait_for(&mut self, label: String) {
        self.label = label;
        self.since = Instant::now();
    }

    /// Returns what removes the spinner from the screen, as output arrived; empty when none is shown.
    pub fn clear(&mut self) -> &'static str {
        self.since = Instant::now();
        if self.sight != SpinnerVisibility::Shown {
            return "";
        }
        self.sight = SpinnerVisibility::Hidden;
        "\r\u{1b}[2K"
    }

    /// Returns what draws the spinner; `None` while it is not time for it.
    pub fn turn(&mut self) -> Option<String> {
        let elapsed = self.since.elapsed();
        if self.sight == SpinnerVisibility::Never || elapsed < QUIET {
            return None;
        }
        self.sight = SpinnerVisibility::Shown;
        Some(format!("\r\u{1b}[2K\u{1b}[2m{}\u{1b}[0m", frame(&self.label, elapsed)))
    }
}

/// One picture of the spinner.
fn frame(label: &str, elapsed: Duration) -> String {
    let turn = elapsed.as_millis() / TURN.as_millis();
    let at = usize::try_from(turn % FRAMES.len() as u128).unwrap_or_default();
    let sign = FRAMES.get(at).copied().unwrap_or_default();
    format!("{sign} {label} {}.{} s", elapsed.as_secs(), elapsed.subsec_millis() / 100)
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
