//! One figure and its bound, and the report of all.

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use serde::Serialize;

use crate::{Result, measure::TIMES_MAY_FAIL};

/// One figure that must not pass its bound.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Gate {
    /// Its name.
    #[serde(rename = "gate")]
    name: &'static str,
    /// What was measured; `null` when it could not be.
    value: Option<f64>,
    /// The bound: the value must be at most this.
    must: f64,
    /// What we want to reach.
    aim: f64,
    unit: &'static str,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object a line.
    Json,
    /// For people.
    Table,
}

/// Prints figures as they come and remembers which failed.
#[derive(Debug)]
pub(crate) struct Report {
    form: Form,
    failed: Vec<&'static str>,
    /// Those that failed and are times, which a busy machine may spoil.
    slow: Vec<&'static str>,
    missing: Vec<&'static str>,
}

impl Report {
    pub(crate) fn new(form: Form) -> Self {
        if form == Form::Table {
            say(&format!("{:<36} {:>12} {:>9} {:>9}  unit", "figure", "value", "must", "aim"));
        }
        Self { form, failed: Vec::new(), slow: Vec::new(), missing: Vec::new() }
    }

    /// Adds a figure; `None` when it could not be measured here.
    pub(crate) fn add(
        &mut self,
        gate: &'static str,
        value: impl Into<Option<f64>>,
        (must, aim): (f64, f64),
        unit: &'static str,
    ) {
        let value = value.into().map(rounded);
        match value {
            // What is wrong has failed already.
            Some(value) if value.is_nan() => {}
            Some(value) if value.is_infinite() => self.failed.push(gate),
            Some(value) if value > must && is_timed(unit) => self.slow.push(gate),
            Some(value) if value > must => self.failed.push(gate),
            Some(_) => {}
            None => self.missing.push(gate),
        }
        let gate = Gate { name: gate, value, must, aim, unit };
        say(&match self.form {
            Form::Json => serde_json::to_string(&gate).unwrap_or_default(),
            Form::Table => gate.row(),
        });
    }

    /// Adds a figure whose workload may be wrong: the row fails then, and the next ones are measured.
    pub(crate) fn take(
        &mut self,
        gate: &'static str,
        value: Result<impl Into<Option<f64>>>,
        bounds: (f64, f64),
        unit: &'static str,
    ) {
        match value {
            Ok(value) => self.add(gate, value, bounds, unit),
            Err(wrong) => {
                self.fail(gate, &wrong.to_string());
                self.add(gate, f64::NAN, bounds, unit);
            }
        }
    }

    /// Adds a figure that is known: less than `least` is as wrong as more than `most`.
    pub(crate) fn known(
        &mut self,
        gate: &'static str,
        value: Result<impl Into<Option<f64>>>,
        (least, most): (f64, f64),
        unit: &'static str,
    ) {
        let value = value.map(Into::into);
        if let Ok(Some(value)) = value
            && value < least
        {
            self.fail(gate, &format!("{value} cannot be: at least {least}"));
        }
        self.take(gate, value, (most, most), unit);
    }

    /// Marks a figure as failed whose result is wrong, however fast it came.
    pub(crate) fn fail(&mut self, gate: &'static str, wrong: &str) {
        complain(&format!("{gate}: {wrong}"));
        self.failed.push(gate);
    }

    /// A remark under the last figure, in the table only.
    pub(crate) fn note(&self, text: &str) {
        if self.form == Form::Table {
            say(&format!("    {text}"));
        }
    }

    /// Says what failed. Times count unless `FORGELINE_TIMES_MAY_FAIL` is set, as on shared machines
    /// that must not be stopped by their neighbours. Not measured counts as failed where everything is promised to be: with
    /// `FORGELINE_REQUIRE_VALGRIND` set.
    pub(crate) fn finish(self) -> ExitCode {
        if !self.missing.is_empty() {
            complain(&format!(
                "not measured: {}; instructions are counted by valgrind, which is missing \
                 (Debian: apt-get install valgrind)",
                self.missing.join(", "),
            ));
        }
        for (what, gates) in [("failed", &self.failed), ("too slow in this run", &self.slow)] {
            if !gates.is_empty() {
                complain(&format!("{what}: {}", gates.join(", ")));
            }
        }
        let is_missing_fatal = env::var_os("FORGELINE_REQUIRE_VALGRIND").is_some();
        let is_slow_fatal = env::var_os(TIMES_MAY_FAIL).is_none();
        let failed = !self.failed.is_empty()
            || (is_slow_fatal && !self.slow.is_empty())
            || (is_missing_fatal && !self.missing.is_empty());
        ExitCode::from(u8::from(failed))
    }
}

impl Gate {
    fn row(&self) -> String {
        let value = self.value.map_or_else(|| "–".to_owned(), |value| value.to_string());
        let mark = if self.value.is_some_and(|value| value > self.must) { "  ✗" } else { "" };
        let Self { name, must, aim, unit, .. } = self;
        format!("{name:<36} {value:>12} {must:>9} {aim:>9}  {unit}{mark}")
    }
}

/// Whether a figure of this unit is a time or a ratio of times.
fn is_timed(unit: &str) -> bool {
    ["×", "µs", "ms", "time("].iter().any(|start| unit.starts_with(start))
}

/// Three decimals below ten, whole numbers above a thousand.
fn rounded(value: f64) -> f64 {
    let scale = if value >= 1000.0 { 1.0 } else { 1000.0 };
    (value * scale).round() / scale
}

/// A line to standard output.
pub(crate) fn say(line: &str) {
    // A reader that left, such as `head`, is no failure of the measurement.
    drop(writeln!(io::stdout().lock(), "{line}"));
}

/// A line to standard error.
pub(crate) fn complain(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(fill: impl FnOnce(&mut Report)) -> usize {
        let mut report = Report::new(Form::Json);
        fill(&mut report);
        report.failed.len() + report.slow.len()
    }

    #[test]
    fn a_wrong_result_a_floor_that_is_left_out_and_a_passed_bound_are_red() {
        assert_eq!(failed(|report| report.add("right", 1.0, (1.0, 0.5), "allocations")), 0);
        assert_eq!(failed(|report| report.add("passed", 1.1, (1.0, 0.5), "allocations")), 1);
        assert_eq!(failed(|report| report.add("slow", 1.1, (1.0, 0.5), "ms")), 1);
        assert_eq!(failed(|report| report.add("endless", f64::INFINITY, (1.0, 0.5), "ms")), 1);
        let wrong: Result<f64> = Err("the answer differs".into());
        assert_eq!(failed(|report| report.take("wrong", wrong, (1.0, 0.5), "ms")), 1);
        let floor =
            |value: f64| failed(|it| it.known("floor", Ok(value), (0.9, 1.1), "allocations"));
        assert_eq!([0.0, 0.8, 1.0, 1.2].map(floor), [1, 1, 0, 1]);
    }
}
