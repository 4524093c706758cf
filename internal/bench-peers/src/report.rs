//! The table, and the verdict on each workload.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::measure::{Measured, Outcome, Time};

/// How much faster than the fastest peer that is right we want to be…
const AIM: f64 = 8.0;
/// …where that leaves more than so many times the floor. Else: faster.
const NEAR_FLOOR: f64 = 1.5;

/// How the table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object a line.
    Json,
    /// For people.
    Table,
}

/// What a line is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heading<'a> {
    pub(crate) workload: &'a str,
    pub(crate) amount: &'a str,
    pub(crate) chunk_bytes: usize,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    workload: &'a str,
    chunk_bytes: usize,
    parser: &'a str,
    times_memchr: Option<f64>,
    ns_per_chunk: Option<f64>,
    runs: Option<usize>,
    right: bool,
    wrong: Option<&'a str>,
    arguments: &'a str,
}

#[derive(Debug, Serialize)]
struct VerdictLine<'a> {
    workload: &'a str,
    chunk_bytes: usize,
    floor_ns_per_chunk: f64,
    verdict: &'a str,
}

impl Form {
    /// What stands above the table: the versions.
    pub(crate) fn begin(self, versions: &[(String, String)]) {
        if self == Self::Json {
            return;
        }
        let versions: Vec<_> =
            versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        say(&versions.join(" · "));
        say(&format!(
            "{:<22} {:<44} {:>9} {:>9}  {:<11} right?",
            "workload", "parser", "× memchr", "ns/chunk", "arguments"
        ));
    }

    /// The lines of a workload.
    pub(crate) fn add(self, heading: Heading<'_>, absent: &[String], measured: &Measured) {
        let Heading { workload, amount, chunk_bytes } = heading;
        let floor = rounded(measured.floor_ns_per_chunk);
        let verdict = verdict(&measured.outcomes);
        if self == Self::Json {
            for outcome in &measured.outcomes {
                let Outcome { parser, time, complaint, arguments, .. } = outcome;
                say_json(&Line {
                    workload,
                    chunk_bytes,
                    parser,
                    times_memchr: time.map(|time| rounded(time.times_memchr)),
                    ns_per_chunk: time.map(|time| rounded(time.ns_per_chunk)),
                    runs: time.map(|time| time.runs),
                    right: complaint.is_none(),
                    wrong: complaint.as_deref(),
                    arguments,
                });
            }
            say_json(&VerdictLine {
                workload,
                chunk_bytes,
                floor_ns_per_chunk: floor,
                verdict: &verdict,
            });
            return;
        }
        let floor = figure(measured.floor_ns_per_chunk);
        let what = format!("memchr over {amount} in {chunk_bytes}-byte chunks");
        say(&format!("{workload:<22} {what:<44} {:>9} {floor:>9}", "1.00"));
        for Outcome { parser, time, complaint, arguments, .. } in &measured.outcomes {
            let [ratio, ns] = [|time: Time| time.times_memchr, |time: Time| time.ns_per_chunk]
                .map(|part| time.map_or_else(|| "–".to_owned(), |time| figure(part(time))));
            let arguments = if arguments.is_empty() { "–" } else { arguments };
            let right =
                complaint.as_deref().map_or_else(|| "yes".to_owned(), |what| format!("NO: {what}"));
            say(&format!("{:<22} {parser:<44} {ratio:>9} {ns:>9}  {arguments:<11} {right}", ""));
        }
        for name in absent {
            say(&format!("{:<22} {:<44} {:>9} {:>9}", "", format!("{name}: absent"), "–", "–"));
        }
        say(&format!("{:<22} → {verdict}", ""));
    }
}

/// How we compare with the fastest peer that is right.
fn verdict(outcomes: &[Outcome]) -> String {
    let right = outcomes.iter().filter(|outcome| outcome.complaint.is_none());
    let right = right.filter_map(|outcome| Some((outcome, outcome.time?.times_memchr)));
    let (ours, peers): (Vec<_>, Vec<_>) = right.partition(|(outcome, _)| outcome.is_ours);
    let fastest = peers.into_iter().min_by(|one, two| one.1.total_cmp(&two.1));
    let are_we_here = outcomes.iter().any(|outcome| outcome.is_ours);
    match (ours.first(), fastest) {
        (None, _) if are_we_here => "MISSED: forgeline is wrong".to_owned(),
        (None, Some((peer, ratio))) => {
            let ratio = figure(ratio);
            format!("forgeline absent; the fastest right peer takes {ratio}: {}", peer.parser)
        }
        (None, None) => "forgeline absent, and no correct peer".to_owned(),
        (Some((_, ours)), None) => format!("no correct peer; forgeline takes {}", figure(*ours)),
        (Some((_, ours)), Some((peer, ratio))) => {
            let gain = ratio / ours;
            let (aim, wanted) =
                if ratio / AIM > NEAR_FLOOR { (AIM, "8 ×") } else { (1.0, "1 ×") };
            let word = match gain {
                gain if gain >= aim && gain > 1.0 => "reached",
                gain if gain > 1.0 => "faster, aim not reached",
                _ => "MISSED: slower",
            };
            format!("{} × faster than {}; aim {wanted}: {word}", figure(gain), peer.parser)
        }
    }
}

fn say_json(line: &impl Serialize) {
    say(&serde_json::to_string(line).unwrap_or_default());
}

/// About three digits.
fn figure(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
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

    fn outcome(is_ours: bool, times_memchr: f64, complaint: Option<&str>) -> Outcome {
        let parser = if is_ours { "ours" } else { "theirs" }.to_owned();
        let time = Some(Time { times_memchr, ns_per_chunk: 1.0, runs: 11 });
        Outcome { parser, is_ours, time, complaint: complaint.map(str::to_owned), arguments: "" }
    }

    #[test]
    fn only_peers_that_are_right_count() {
        let ours = || outcome(true, 2.0, None);
        let lossy = || outcome(false, 1.0, Some("text lost"));
        assert_eq!(verdict(&[ours(), lossy()]), "no correct peer; forgeline takes 2.00");
        let slow = outcome(false, 20.0, None);
        assert_eq!(
            verdict(&[ours(), lossy(), slow]),
            "10.0 × faster than theirs; aim 8 ×: reached"
        );
        let wrong = outcome(true, 1.0, Some("text lost"));
        assert_eq!(verdict(&[wrong, lossy()]), "MISSED: forgeline is wrong");
    }

    #[test]
    fn near_the_floor_faster_is_enough() {
        let ours = || outcome(true, 1.5, None);
        let word = |ratio| {
            let verdict = verdict(&[ours(), outcome(false, ratio, None)]);
            verdict.split_once("; ").map(|(_, word)| word.to_owned()).unwrap_or_default()
        };
        assert_eq!(word(6.0), "aim 1 ×: reached");
        assert_eq!(word(11.9), "aim 1 ×: reached");
        assert_eq!(word(12.1), "aim 8 ×: reached");
        assert_eq!(word(1.4), "aim 1 ×: MISSED: slower");
    }
}
