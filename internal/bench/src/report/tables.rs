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

/// A line of `bench-serve`.
#[derive(Debug, Deserialize)]
pub(super) struct Served {
    row: String,
    value: Option<f64>,
    must: Option<f64>,
    floor: f64,
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
    floor_ns_per_chunk: Option<f64>,
    #[serde(rename = "parser")]
    name: Option<String>,
    times_memchr: Option<f64>,
    #[serde(default)]
    right: bool,
    #[serde(default)]
    arguments: String,
}

/// forgeline and its peers on one workload.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    workload: &'a str,
    /// Nanoseconds a chunk of `memchr`.
    floor: Option<f64>,
    /// `None` when forgeline is wrong or absent.
    ours: Option<f64>,
    peers: usize,
    /// Those that are right, the fastest first.
    right: Vec<(&'a str, f64, &'a str)>,
}

const OURS: &str = "forgeline";

/// Gates that are read together, in the order in which they were printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    Parsers,
    /// Bytes in memory, and all the rest.
    Memory,
}

impl Gate {
    /// Returns what was measured, and the bound.
    fn cells(&self) -> String {
        let mark = if self.value.is_some_and(|value| value > self.must) {
            " (**passes its bound**)"
        } else {
            ""
        };
        let here = self.value.map_or_else(|| "not measured".to_owned(), figure);
        format!("{here}{mark} | {}", figure(self.must))
    }

    fn kind(&self) -> Kind {
        match &*self.unit {
            unit if unit.ends_with("over HTTP") || unit == "KiB resident each" => Kind::Http,
            unit if unit.contains("reqwest") => Kind::Http,
            unit if unit.contains("memchr") || unit == PIECE => Kind::Parsers,
            _ if PARSERS.iter().any(|start| self.name.starts_with(start)) => Kind::Parsers,
            _ => Kind::Memory,
        }
    }
}

/// How the names of gates of parsers begin whose units do not name the floor.
const PARSERS: [&str; 9] =
    ["auto_", "both_", "call_", "calls_", "floor_", "grammar_", "long_", "parser_", "thinking_"];

/// The unit of the gates that count what another one times.
const PIECE: &str = "instructions a piece";

pub(super) fn gates(gates: &[Gate], kind: Kind) -> String {
    let of_kind = gates.iter().filter(|gate| gate.kind() == kind);
    if kind != Kind::Parsers {
        let head = "| figure | here | bound | unit |\n| --- | ---: | ---: | --- |\n";
        let row = |it: &Gate| format!("| `{}` | {} | {} |\n", it.name, it.cells(), it.unit);
        return table(head, of_kind.map(row));
    }
    let head = "| figure | here | bound | unit | instructions a piece | bound |\n\
                | --- | ---: | ---: | --- | ---: | ---: |\n";
    let row = |it: &Gate| {
        let counted = gates.iter().find(|gate| {
            gate.unit == PIECE && gate.name.strip_suffix("_instructions") == Some(&it.name)
        });
        let counted = counted.map_or_else(|| " | ".to_owned(), Gate::cells);
        format!("| `{}` | {} | {} | {counted} |\n", it.name, it.cells(), it.unit)
    };
    table(head, of_kind.filter(|it| it.unit != PIECE).map(row))
}

pub(super) fn service(rows: &[Served]) -> String {
    let head = "| row | service | floor | bound | unit |\n| --- | ---: | ---: | ---: | --- |\n";
    table(head, rows.iter().map(Served::row))
}

impl Served {
    fn row(&self) -> String {
        let Self { row, value, must, floor, unit } = self;
        let is_passed = must.is_some_and(|must| value.is_none_or(|value| value > must));
        let mark = if is_passed { " (**passes its bound**)" } else { "" };
        let here = value.map_or_else(|| "not measured".to_owned(), figure);
        let must = must.map_or_else(|| "–".to_owned(), figure);
        format!("| `{row}` | {here}{mark} | {} | {must} | {unit} |\n", figure(*floor))
    }
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    [head.to_owned()].into_iter().chain(rows).collect()
}

pub(super) fn clients(clients: &[Client]) -> String {
    let head = "| client | instructions/chunk | allocations/chunk | µs/chunk | × reqwest | peak MiB |\n\
                | --- | ---: | ---: | ---: | ---: | ---: |\n";
    table(head, clients.iter().map(Client::row))
}

impl Client {
    fn row(&self) -> String {
        let title = if self.is_ours() {
            self.title().replacen(OURS, "**forgeline**", 1)
        } else {
            self.title()
        };
        if let Some(wrong) = &self.wrong {
            return format!("| {title} | not the whole answer: {wrong} | | | | |\n");
        }
        let cells = [
            self.instructions_per_chunk,
            self.allocations_per_chunk,
            self.microseconds_per_chunk,
            self.times_reqwest,
            self.peak_mib,
        ];
        let cells = cells.map(|cell| cell.map_or_else(|| "–".to_owned(), figure)).join(" | ");
        format!("| {title} | {cells} |\n")
    }

    fn is_ours(&self) -> bool {
        self.name.starts_with(OURS)
    }

    /// Returns the crate, its version unless it is ours, and how far it brings the answer.
    fn title(&self) -> String {
        let Self { name, version, .. } = self;
        let (name, gives) = match &**name {
            "forgeline-events" => (OURS, ", to events"),
            "rig-agent" => ("rig", ", an agent's items"),
            OURS | "async-openai" => (&**name, ", to typed chunks"),
            "reqwest" => (&**name, ", bytes thrown away"),
            "genai" | "rig" => (&**name, ", to events"),
            _ => (&**name, ""),
        };
        if self.is_ours() { format!("{name}{gives}") } else { format!("{name} {version}{gives}") }
    }

    /// Returns its bar in the picture.
    pub(super) fn bar(&self) -> Bar {
        let is_ours = self.is_ours();
        let name = match &self.wrong {
            Some(_) => format!("{} {}: not whole", self.name, self.version),
            None => self.title(),
        };
        Bar { name, value: self.instructions_per_chunk, is_ours }
    }
}

/// Gathers the lines of each workload.
pub(super) fn comparisons(lines: &[Parser]) -> Vec<Comparison<'_>> {
    lines.chunk_by(|one, two| one.workload == two.workload).filter_map(Comparison::of).collect()
}

pub(super) fn parsers(comparisons: &[Comparison<'_>]) -> String {
    let head = "| stream | `memchr`, ns/chunk | forgeline | fastest peer that is right | arguments of its calls | right peers | |\n\
                | --- | ---: | ---: | --- | --- | --- | --- |\n";
    table(head, comparisons.iter().map(Comparison::row))
}

impl<'a> Comparison<'a> {
    fn of(lines: &'a [Parser]) -> Option<Self> {
        let workload = &*lines.first()?.workload;
        let floor = lines.iter().find_map(|line| line.floor_ns_per_chunk);
        let mut found = Self { workload, floor, ours: None, peers: 0, right: Vec::new() };
        for line in lines {
            let Some(name) = &line.name else { continue };
            let ratio = line.times_memchr.filter(|_| line.right);
            if name.starts_with(OURS) {
                found.ours = ratio;
            } else {
                found.peers += 1;
                found.right.extend(ratio.map(|ratio| (&**name, ratio, &*line.arguments)));
            }
        }
        found.right.sort_by(|(_, one, _), (_, two, _)| one.total_cmp(two));
        Some(found)
    }

    fn row(&self) -> String {
        let Self { workload, floor, ours, peers, right } = self;
        let times = |ratio| format!("{} ×", figure(ratio));
        let floor = floor.map_or_else(|| "–".to_owned(), figure);
        let ours_text = ours.map_or_else(|| "**wrong**".to_owned(), times);
        let count = format!("{} of {peers}", right.len());
        let Some(&(name, ratio, arguments)) = right.first() else {
            let peer = self.without_peer();
            return format!("| {workload} | {floor} | {ours_text} | {peer} | | {count} | |\n");
        };
        let gain = ours.map_or_else(String::new, |ours| match ratio / ours {
            gain if gain >= 1.0 => format!("{} × faster", figure(gain)),
            gain => format!("**{} × slower**", figure(1.0 / gain)),
        });
        let ratio = times(ratio);
        let arguments = if arguments.is_empty() { "–" } else { arguments };
        format!(
            "| {workload} | {floor} | {ours_text} | {name}, {ratio} | {arguments} | {count} | {gain} |\n"
        )
    }

    /// Returns the bar of forgeline and that of the peer.
    pub(super) fn bars(&self) -> Vec<Bar> {
        let value = self.ours;
        let name = if value.is_some() { OURS } else { "forgeline is wrong" };
        let ours = Bar { name: format!("{}: {name}", self.workload), value, is_ours: true };
        let peer = self.right.first().map(|&(name, value, _)| {
            let (name, _) = name.split_once(':').unwrap_or((name, ""));
            (name, value)
        });
        let (name, value) = peer.unzip();
        let name = name.unwrap_or_else(|| self.without_peer()).to_owned();
        vec![ours, Bar { name, value, is_ours: false }]
    }

    fn without_peer(&self) -> &'static str {
        if self.peers == 0 { "none reads it" } else { "none is right" }
    }
}

/// A number for people: about three digits, thousands with commas.
pub(super) fn figure(value: f64) -> String {
    if value >= 999.5 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(lines: &[&str]) -> crate::Result<Vec<T>> {
        lines.iter().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    #[test]
    fn numbers_have_about_three_digits() {
        let shown = [0.0, 0.0123, 0.5, 2.345, 41.66, 139.7, 999.7, 12_447.0, 200_745.4].map(figure);
        assert_eq!(
            shown,
            ["0", "0.012", "0.50", "2.35", "41.7", "140", "1,000", "12,447", "200,745"]
        );
    }

    #[test]
    fn a_row_of_the_service_that_passes_its_bound_says_so() -> crate::Result<()> {
        let rows: Vec<Served> = read(&[
            r#"{"row":"cpu_us_50","value":46.2,"must":null,"floor":10.9,"unit":"µs"}"#,
            r#"{"row":"added_us_50","value":52000.0,"must":300.0,"floor":121.0,"unit":"µs p99"}"#,
            r#"{"row":"lost","value":null,"must":0.0,"floor":0.0,"unit":"readers"}"#,
        ])?;
        let table = service(&rows);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| `cpu_us_50` | 46.2 | 10.9 | – | µs |",
                "| `added_us_50` | 52,000 (**passes its bound**) | 121 | 300 | µs p99 |",
                "| `lost` | not measured (**passes its bound**) | 0 | 0 | readers |",
            ]
        );
        Ok(())
    }

    #[test]
    fn the_fastest_right_peer_stands_beside_ours() -> crate::Result<()> {
        let lines = read(&[
            r#"{"workload":"a","parser":"forgeline: think","times_memchr":2.0,"right":true,"arguments":""}"#,
            r#"{"workload":"a","parser":"lossy","times_memchr":1.0,"right":false,"arguments":""}"#,
            r#"{"workload":"a","parser":"slow","times_memchr":90.0,"right":true,"arguments":"stream"}"#,
            r#"{"workload":"a","parser":"good: x","times_memchr":1.0,"right":true,"arguments":"one piece"}"#,
            r#"{"workload":"a","floor_ns_per_chunk":5.5,"verdict":"MISSED"}"#,
            r#"{"workload":"b","parser":"forgeline: think","times_memchr":2.0,"right":false,"arguments":""}"#,
            r#"{"workload":"b","parser":"lossy","times_memchr":null,"right":false,"arguments":""}"#,
            r#"{"workload":"b","floor_ns_per_chunk":5.5,"verdict":"MISSED"}"#,
        ])?;
        let comparisons = comparisons(&lines);
        let table = parsers(&comparisons);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| a | 5.50 | 2 × | good: x, 1 × | one piece | 2 of 3 | **2 × slower** |",
                "| b | 5.50 | **wrong** | none is right | | 0 of 1 | |",
            ]
        );
        let bars = comparisons.iter().flat_map(Comparison::bars);
        let bars: Vec<_> = bars.map(|bar| (bar.name, bar.value)).collect();
        let expected = [
            ("a: forgeline", Some(2.0)),
            ("good", Some(1.0)),
            ("b: forgeline is wrong", None),
            ("none is right", None),
        ];
        assert_eq!(bars, expected.map(|(name, value)| (name.to_owned(), value)));
        Ok(())
    }

    #[test]
    fn a_gate_above_its_bound_is_marked_in_the_table_of_its_kind() -> crate::Result<()> {
        let lines: Vec<Gate> = read(&[
            r#"{"gate":"provider","value":3205.0,"must":5000.0,"aim":1.0,"unit":"instructions/chunk"}"#,
            r#"{"gate":"http","value":null,"must":7.5,"aim":1.0,"unit":"instructions/chunk over HTTP"}"#,
            r#"{"gate":"prose","value":2.5,"must":2.0,"aim":1.0,"unit":"× memchr, 16-byte pieces"}"#,
            r#"{"gate":"prose_instructions","value":99.0,"must":105.0,"aim":1.0,"unit":"instructions a piece"}"#,
            r#"{"gate":"parser_allocations","value":0.0,"must":0.0,"aim":0.0,"unit":"allocations/chunk"}"#,
        ])?;
        let last = |kind| gates(&lines, kind).lines().skip(2).collect::<String>();
        assert_eq!(last(Kind::Memory), "| `provider` | 3,205 | 5,000 | instructions/chunk |");
        assert_eq!(
            last(Kind::Http),
            "| `http` | not measured | 7.50 | instructions/chunk over HTTP |"
        );
        assert_eq!(
            last(Kind::Parsers),
            "| `prose` | 2.50 (**passes its bound**) | 2 | × memchr, 16-byte pieces | 99 | 105 |\
             | `parser_allocations` | 0 | 0 | allocations/chunk |  |  |"
        );
        Ok(())
    }

    #[test]
    fn a_client_that_is_not_whole_has_no_figure() -> crate::Result<()> {
        let lines: Vec<Client> = read(&[
            r#"{"client":"forgeline","version":"0.1.0","whole":true,"instructions_per_chunk":7436.0,
                "allocations_per_chunk":0.0,"microseconds_per_chunk":1.5,"times_reqwest":null,"peak_mib":9.0}"#,
            r#"{"client":"lossy","version":"1.2.3","whole":false,"wrong":"a letter less"}"#,
        ])?;
        let table = clients(&lines);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| **forgeline**, to typed chunks | 7,436 | 0 | 1.50 | – | 9 |",
                "| lossy 1.2.3 | not the whole answer: a letter less | | | | |",
            ]
        );
        let bars: Vec<_> = lines.iter().map(Client::bar).collect();
        let bars: Vec<_> = bars.iter().map(|bar| (&*bar.name, bar.value)).collect();
        assert_eq!(
            bars,
            [("forgeline, to typed chunks", Some(7436.0)), ("lossy 1.2.3: not whole", None)]
        );
        Ok(())
    }
}
