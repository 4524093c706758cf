//! The results that were read, as tables.

use serde::Deserialize;

use super::bars::Bar;

/// A line of `gates`.
#[derive(Debug, Deserialize)]
pub(super) struct Gate {
    #[serde(rename = "gate")]
    name: String,
    value: Option<f64>,
    must: f64,
    unit: String,
}

/// A line of `bench-clients --json`.
#[derive(Debug, Deserialize)]
pub(super) struct Client {
    #[serde(rename = "client")]
    name: String,
    version: String,
    wrong: Option<String>,
    instructions_per_chunk: Option<f64>,
    allocations_per_chunk: Option<f64>,
    microseconds_per_chunk: Option<f64>,
    times_reqwest: Option<f64>,
    peak_mib: Option<f64>,
}

/// A line of `bench-parsers --json`: a parser, or the verdict on a workload.
#[derive(Debug, Deserialize)]
pub(super) struct Parser {
    workload: String,
    #[serde(rename = "parser")]
    name: Option<String>,
    times_memchr: Option<f64>,
    #[serde(default)]
    right: bool,
    #[serde(default)]
    arguments: String,
}

/// forgeline and the fastest peer that is right, on one workload.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    workload: &'a str,
    ours: f64,
    peer: Option<(&'a str, f64, &'a str)>,
}

const OURS: &str = "forgeline";

pub(super) fn gates(gates: &[Gate]) -> String {
    let row = |Gate { name, value, must, unit }: &Gate| {
        let mark =
            if value.is_some_and(|value| value > *must) { " (**passes its bound**)" } else { "" };
        let here = value.map_or_else(|| "not measured".to_owned(), figure);
        format!("| `{name}` | {here}{mark} | {} | {unit} |\n", figure(*must))
    };
    table("| figure | here | bound | unit |\n| --- | --- | --- | --- |\n", gates.iter().map(row))
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    [head.to_owned()].into_iter().chain(rows).collect()
}

pub(super) fn clients(clients: &[Client]) -> String {
    let head = "| client | instructions/chunk | allocations/chunk | µs/chunk | × reqwest | peak MiB |\n\
                | --- | --- | --- | --- | --- | --- |\n";
    table(head, clients.iter().map(Client::row))
}

impl Client {
    fn row(&self) -> String {
        let Self { name, version, wrong, .. } = self;
        if let Some(wrong) = wrong {
            return format!("| {name} {version} | not the whole answer: {wrong} | | | | |\n");
        }
        let cells = [
            self.instructions_per_chunk,
            self.allocations_per_chunk,
            self.microseconds_per_chunk,
            self.times_reqwest,
            self.peak_mib,
        ];
        let cells = cells.map(|cell| cell.map_or_else(|| "–".to_owned(), figure)).join(" | ");
        let name = if self.is_ours() { format!("**{name}**") } else { format!("{name} {version}") };
        format!("| {name} | {cells} |\n")
    }

    fn is_ours(&self) -> bool {
        self.name.starts_with(OURS)
    }

    /// Returns its bar in the picture, unless the answer was not whole.
    pub(super) fn bar(&self) -> Option<Bar> {
        let name = if self.is_ours() {
            self.name.clone()
        } else {
            format!("{} {}", self.name, self.version)
        };
        Some(Bar { name, value: self.instructions_per_chunk?, is_ours: self.is_ours() })
    }
}

/// Pairs forgeline with its fastest right peer, workload by workload.
pub(super) fn comparisons(lines: &[Parser]) -> Vec<Comparison<'_>> {
    let mut found: Vec<Comparison<'_>> = Vec::new();
    for line in lines {
        let Some((name, ratio)) = line.name.as_deref().zip(line.times_memchr) else { continue };
        if !line.right {
            continue;
        }
        let is_ours = name.starts_with(OURS);
        if is_ours {
            found.push(Comparison { workload: &line.workload, ours: ratio, peer: None });
        } else if let Some(last) = found.last_mut().filter(|it| it.workload == line.workload)
            && last.peer.is_none_or(|(_, fastest, _)| ratio < fastest)
        {
            last.peer = Some((name, ratio, &line.arguments));
        }
    }
    found
}

pub(super) fn parsers(comparisons: &[Comparison<'_>]) -> String {
    let head = "| stream | forgeline | fastest peer that is right | arguments of its calls | |\n\
                | --- | --- | --- | --- | --- |\n";
    table(head, comparisons.iter().map(Comparison::row))
}

impl Comparison<'_> {
    fn row(&self) -> String {
        let Self { workload, ours, peer } = self;
        let ours_text = figure(*ours);
        let Some((name, ratio, arguments)) = peer else {
            return format!("| {workload} | {ours_text} × | none is right | | |\n");
        };
        let gain = if ratio >= ours {
            format!("{} × faster", figure(ratio / ours))
        } else {
            format!("**{} × slower**", figure(ours / ratio))
        };
        let ratio = figure(*ratio);
        format!("| {workload} | {ours_text} × | {name}, {ratio} × | {arguments} | {gain} |\n")
    }

    /// Returns two bars, or one where no peer is right.
    pub(super) fn bars(&self) -> Vec<Bar> {
        let Self { workload, ours, peer } = self;
        let ours = Bar { name: format!("{workload}: {OURS}"), value: *ours, is_ours: true };
        let peer =
            peer.map(|(name, value, _)| Bar { name: name.to_owned(), value, is_ours: false });
        [Some(ours), peer].into_iter().flatten().collect()
    }
}

/// A number for people: about three digits, thousands with commas.
pub(super) fn figure(value: f64) -> String {
    if value >= 1000.0 {
        let digits = format!("{value:.0}");
        let lead = digits.len() % 3;
        let (head, tail) = digits.split_at(lead);
        let mut groups: Vec<_> = [head].into_iter().filter(|head| !head.is_empty()).collect();
        groups.extend((0..tail.len() / 3).filter_map(|at| tail.get(3 * at..3 * at + 3)));
        return groups.join(",");
    }
    let decimals = match value {
        value if value.fract() == 0.0 => 0,
        value if value < 0.1 => 3,
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}
