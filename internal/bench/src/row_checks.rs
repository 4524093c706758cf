//! What has to come out of the stages, and the faults that each row has to notice.

use forgeline::llm::parser::{ParseOutcome, ParsedContent};
use serde_json::Value;

use crate::{
    Result,
    gate::Report,
    parsers::floor,
    rows::{Content, ROWS, Row},
    stages::{Counts, Read, Stages},
};

/// What came out of the stages.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    thinking: String,
    message: String,
    /// Both in their order.
    all: String,
    /// What the calls' parser gave, as it stands in its text.
    source: String,
    calls: usize,
    arguments: String,
    /// The answer is given once, by the calls' parser.
    is_of_one: bool,
}

impl Seen {
    pub(crate) fn of(stages: Stages) -> Self {
        Self { is_of_one: stages.are_one(), ..Self::default() }
    }

    pub(crate) fn take(&mut self, read: &Read<'_>) {
        match *read {
            Read::Thinking(text) => {
                self.thinking.push_str(text);
                self.all.push_str(text);
            }
            Read::Message(text) => {
                self.message.push_str(text);
                self.all.push_str(text);
            }
            Read::Content(content) => self.take_content(content),
        }
    }

    fn take_content(&mut self, content: ParsedContent<'_>) {
        match content {
            ParsedContent::Text(text)
            | ParsedContent::Marker(text)
            | ParsedContent::Inline(text)
            | ParsedContent::CallBody(text) => self.take_source(text),
            ParsedContent::CallVerbatim(text) => {
                self.take_source(text);
                self.arguments.push_str(text);
            }
            ParsedContent::CallArguments(json) => self.arguments.push_str(json),
            ParsedContent::CallEnd { outcome: ParseOutcome::Complete, .. } => self.calls += 1,
            ParsedContent::OpenerInCode
            | ParsedContent::CallStart
            | ParsedContent::CallName(_)
            | ParsedContent::CallId(_)
            | ParsedContent::CallServer(_)
            | ParsedContent::CallSource(_)
            | ParsedContent::CallEnd { .. }
            | _ => {}
        }
    }

    fn take_source(&mut self, text: &str) {
        self.source.push_str(text);
        if self.is_of_one {
            self.message.push_str(text);
            self.all.push_str(text);
        }
    }

    /// Counts this; fails where it is not what `row` must read in `text`, a call of which has this file.
    pub(crate) fn check(&self, row: &Row, text: &str, content: Option<&str>) -> Result<Counts> {
        let (has_thinking, has_calls) = row.stages.parts();
        let want = match row.content {
            Content::Text(_) if !has_calls => 0,
            // Markdown mentions it inside of lines.
            Content::Text(_) => text.matches("\n<tool>").count(),
            Content::Call(..) => 1,
        };
        if self.calls != want {
            return Err(format!("{} calls came out of a text with {want}", self.calls).into());
        }
        if let Some(content) = content {
            let arguments: Value = serde_json::from_str(&self.arguments)?;
            if arguments.get("content").and_then(Value::as_str) != Some(content) {
                return Err("the file of the call has another content".into());
            }
        }
        let fed = if has_thinking { &self.message } else { text };
        if has_calls && self.source != fed {
            return Err(
                format!("{} bytes came out of other {}", self.source.len(), fed.len()).into()
            );
        }
        if has_thinking {
            self.check_thinking(text)?;
        }
        let bytes = self.all.len() + if self.is_of_one { 0 } else { self.source.len() };
        Ok(Counts { bytes, calls: self.calls })
    }

    fn check_thinking(&self, text: &str) -> Result<()> {
        // An excerpt of Markdown may begin behind the fence that hides a tag, which `auto` then takes.
        let has_to = text.starts_with("<thinking>");
        let may_think = text.contains("think");
        if has_to == self.thinking.is_empty() && (has_to || !may_think) {
            return Err(format!("{} bytes of reasoning", self.thinking.len()).into());
        }
        let is_whole = if has_to || !may_think {
            without_tags(text) == without_tags(&self.thinking) + &without_tags(&self.message)
        } else {
            words_of(text) == words_of(&self.all)
        };
        if is_whole { Ok(()) } else { Err("other text came out".into()) }
    }
}

/// The text without the tags of reasoning and without whitespace, some of which is theirs.
fn without_tags(text: &str) -> String {
    let text = text.replace("<thinking>", "").replace("</thinking>", "");
    text.split_whitespace().collect()
}

/// The letters and digits of the text, without the words in tags of reasoning.
fn words_of(text: &str) -> String {
    let letters: String = text.chars().filter(|next| next.is_alphanumeric()).collect();
    letters.to_lowercase().replace("thinking", "").replace("think", "").replace("thought", "")
}

/// What is wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The piece in the middle of a text does not come.
    Lost,
    Twice,
    /// It has another letter.
    Changed,
    /// The dialect has a name that is none.
    Dialect,
    /// The floor is left out.
    Floor,
}

const FAULTS: [Fault; 5] =
    [Fault::Lost, Fault::Twice, Fault::Changed, Fault::Dialect, Fault::Floor];

/// Texts that are timed without a floor.
const WITHOUT_FLOOR: u64 = 16;

/// Measures each row with each fault, and counts those that stay green.
pub(crate) fn gates(report: &mut Report) {
    let (mut made, mut unseen) = (0, 0);
    for row in &ROWS {
        for fault in FAULTS {
            let Some(is_seen) = is_seen(row, fault) else { continue };
            made += 1;
            if !is_seen {
                unseen += 1;
                report.fail("unseen_parser_faults", &format!("{} passes: {fault:?}", row.gate));
            }
        }
    }
    let unit = format!("of {made} faults that no row of the parsers noticed").leak();
    report.add("unseen_parser_faults", f64::from(unseen), (0.0, 0.0), unit);
}

/// Returns `true` when `row` is red with `fault`; `None` where it cannot have it.
fn is_seen(row: &Row, fault: Fault) -> Option<bool> {
    let texts = row.texts(1);
    let (text, content) = texts.first()?;
    let mut pieces = row.cut(text);
    let Ok(want) = row.check(&pieces, text, content.as_deref()) else { return Some(true) };
    let has_letter = |piece: &&str| piece.contains(|letter: char| letter.is_ascii_lowercase());
    let middle = pieces.len() / 2;
    let place = middle + pieces.iter().skip(middle).position(has_letter)?;
    let changed = pieces.get(place)?.replacen(|letter: char| letter.is_ascii_lowercase(), "Q", 1);
    match fault {
        Fault::Lost => drop(pieces.remove(place)),
        Fault::Twice => pieces.insert(place, pieces.get(place)?),
        Fault::Changed => *pieces.get_mut(place)? = &changed,
        Fault::Dialect => {
            let Stages::Dialect(_) = row.stages else { return None };
            let other = row.read_by(Stages::Dialect("none of this name"));
            return Some(other.timed(&texts, &mut floor).is_err());
        }
        Fault::Floor => {
            // Of few texts, what reading the clock takes would pass for a floor.
            let texts = row.texts(WITHOUT_FLOOR);
            let angles = texts.iter().map(|(text, _)| text.matches('<').count()).sum();
            let pair = row.timed(&texts, &mut |_| angles);
            return Some(pair.map_or(true, |(pair, ..)| pair.ratio > row.times.0));
        }
    }
    let counts = row.check(&pieces, text, content.as_deref());
    Some(counts.map_or(true, |counts| counts != want))
}
