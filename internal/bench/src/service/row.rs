//! Rows: a figure beside its bound and its floor.

use std::{cell::RefCell, env, process::ExitCode};

use serde_json::json;

use crate::gate::{complain, say};

/// The rows that were printed.
#[derive(Debug, Default)]
pub(super) struct Rows {
    failed: RefCell<Vec<String>>,
    /// Those that failed and are times, which a busy machine may spoil.
    slow: RefCell<Vec<String>>,
}

impl Rows {
    /// Adds a figure, and that of the floor.
    pub(super) fn add(&self, row: &str, value: f64, must: Option<f64>, floor: f64, unit: &str) {
        let [value, floor] = [value, floor].map(|figure| (figure * 10.0).round() / 10.0);
        let command = "make bench-serve";
        let line = json!({ "row": row, "value": value, "must": must, "floor": floor, "unit": unit, "command": command });
        say(&line.to_string());
        if must.is_some_and(|must| value > must || value.is_nan()) {
            let is_time = ["µs", "ms"].iter().any(|start| unit.starts_with(start));
            let failed = if is_time { &self.slow } else { &self.failed };
            failed.borrow_mut().push(row.to_owned());
        }
    }

    /// Adds a time of which the floor is taken away.
    pub(super) fn added(&self, row: &str, value: f64, must: f64, floor: f64, unit: &str) {
        self.add(row, value - floor, Some(must), floor, unit);
    }

    /// Says what failed. Times count unless `FORGELINE_TIMES_MAY_FAIL` is set, as for the gates.
    pub(super) fn finish(&self) -> ExitCode {
        let (failed, slow) = (self.failed.borrow(), self.slow.borrow());
        for (what, rows) in [("failed", &failed), ("too slow in this run", &slow)] {
            if !rows.is_empty() {
                complain(&format!("{what}: {}", rows.join(", ")));
            }
        }
        let is_slow_fatal = env::var_os("FORGELINE_TIMES_MAY_FAIL").is_none();
        ExitCode::from(u8::from(!failed.is_empty() || (is_slow_fatal && !slow.is_empty())))
    }
}

/// Returns the value below which so many of a hundred values are.
pub(super) fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = values.len() * percent / 100;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::INFINITY)
}
