//! Lines of the trace that wait for whoever writes them.

use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use crate::exit::note;

/// Lines that wait; further ones are left out and counted, for a trace must not hold up a run.
const QUEUE: usize = 1024;

/// The longest wait, at the end, for stderr to take the next line.
const NEXT_LINE: Duration = Duration::from_secs(1);

static WAITING: Mutex<WaitingLines> =
    Mutex::new(WaitingLines { lines: VecDeque::new(), left_out: 0 });

struct WaitingLines {
    lines: VecDeque<String>,
    left_out: usize,
}

fn lock() -> MutexGuard<'static, WaitingLines> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a line.
pub(super) fn push(line: String) {
    let mut waiting = lock();
    if waiting.lines.len() < QUEUE {
        waiting.lines.push_back(line);
    } else {
        waiting.left_out += 1;
    }
}

/// Returns the lines that wait, in order.
pub(crate) fn waiting() -> Vec<String> {
    let mut waiting = lock();
    let left_out = mem::take(&mut waiting.left_out);
    let mut lines: Vec<_> = waiting.lines.drain(..).collect();
    if left_out > 0 {
        lines.push(super::line(0, &format!("… {left_out} further lines were left out")));
    }
    lines
}

/// Writes the lines that wait. What was there when the program ends is not lost, unless stderr takes nothing.
pub(crate) fn finish() {
    let lines = waiting();
    if lines.is_empty() {
        return;
    }
    let (tell, written) = mpsc::channel();
    thread::spawn(move || {
        for line in lines {
            note(&line);
            if tell.send(()).is_err() {
                break;
            }
        }
    });
    while written.recv_timeout(NEXT_LINE).is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_over_the_queue_limit_are_counted() {
        for number in 0..QUEUE + 3 {
            push(number.to_string());
        }
        let lines = waiting();
        assert_eq!((lines.len(), lines[QUEUE - 1].as_str()), (QUEUE + 1, "1023"));
        assert!(lines[QUEUE].ends_with("… 3 further lines were left out"), "{}", lines[QUEUE]);
        assert!(waiting().is_empty());
    }
}
