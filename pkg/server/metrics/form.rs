//! The text format of Prometheus.

use std::fmt::Write as _;

/// Appends the header of a metric.
pub(super) fn head(name: &str, help: &str, kind: &str, out: &mut String) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or_default();
}

/// Returns an escaped label value.
pub(super) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
