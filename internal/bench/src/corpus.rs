//! Made-up answers of models: the same at every run.

use std::fmt::Write as _;

use bytes::Bytes;

use crate::fault;

/// A small generator of numbers (xorshift), so that the texts need no crate and never change.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.roll() >> 33).unwrap_or_default() % words.len();
        words.get(at).copied().unwrap_or_default()
    }
}

const WORDS: [&str; 32] = [
    " the", " stream", " ends", " when", " its", " reader", " goes", " away", ", and", " a",
    " café", " bounded", " queue", " holds", " eight", " events", ".", " So", " nothing", " is",
    " lost", "\n", " 日本", " word", " by", " token", " of", " each", " answer", " counts", ";",
    " then",
];

const CODE: [&str; 12] = [
    "a<b", " && ", "c<=d", " Vec<u8>", " x<<2", " <p>", "</p>", "<th", " if ", "<to", "n <m", "; ",
];

/// `bytes` bytes of prose, or a little more.
pub(crate) fn prose(dice: &mut Dice, bytes: usize) -> String {
    fill(dice, &WORDS, bytes)
}

/// Text full of `<` that opens nothing.
pub(crate) fn angles(dice: &mut Dice, bytes: usize) -> String {
    fill(dice, &CODE, bytes)
}

/// A piece of this repository's Markdown.
pub(crate) fn markdown(dice: &mut Dice, bytes: usize) -> String {
    excerpt(dice, include_str!("../corpus/markdown.txt"), bytes)
}

/// A piece of this repository's Rust.
pub(crate) fn source(dice: &mut Dice, bytes: usize) -> String {
    excerpt(dice, include_str!("../corpus/rust.txt"), bytes)
}

/// About `bytes` bytes of `text`.
fn excerpt(dice: &mut Dice, text: &str, bytes: usize) -> String {
    let places = text.len().saturating_sub(bytes).max(1);
    let place = usize::try_from(dice.roll() >> 33).unwrap_or_default() % places;
    let start = text.floor_char_boundary(place);
    let end = text.floor_char_boundary((start + bytes).min(text.len()));
    text.get(start..end).unwrap_or_default().to_owned()
}

fn fill(dice: &mut Dice, words: &[&str], bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(dice.pick(words));
    }
    text
}

/// Half reasoning, half answer.
pub(crate) fn thinking(dice: &mut Dice, bytes: usize) -> String {
    let (head, tail) = (prose(dice, bytes / 2), prose(dice, bytes / 2));
    format!("<thinking>\n{head}\n</thinking>\n\n{tail}")
}

/// One call with a JSON payload that fills the text, a sentence before it.
pub(crate) fn json_text(dice: &mut Dice, bytes: usize) -> String {
    let (before, content) = (prose(dice, 64), prose(dice, bytes - 200));
    format!("{before}\n{}\n", json_call(&content))
}

/// One call with an XML payload that fills the text, a sentence before it.
pub(crate) fn xml_text(dice: &mut Dice, bytes: usize) -> String {
    let (before, content) = (prose(dice, 64), prose(dice, bytes - 200));
    format!("{before}\n{}\n", xml_call(&content))
}

/// Calls with JSON payloads of about a KiB, a sentence before each.
pub(crate) fn small_calls(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let call = json_call(&prose(dice, 1024));
        let before = prose(dice, 64);
        write!(text, "{before}\n{call}\n").unwrap_or_default();
    }
    text
}

/// One call that writes `content` to a file, as JSON.
pub(crate) fn json_call(content: &str) -> String {
    let content = serde_json::Value::from(content);
    format!(
        r#"<tool>{{"tool_name":"write_file","arguments":{{"path":"notes/today.txt","content":{content},"line":7}}}}</tool>"#
    )
}

/// One call that writes `content` to a file, as XML.
pub(crate) fn xml_call(content: &str) -> String {
    let content = content.replace(';', "&lt;");
    format!(
        "<tool><tool_name>write_file</tool_name><arguments><path>notes/today.txt</path>\
         <content>{content}</content><line>7</line></arguments></tool>"
    )
}

/// The schema of `write_file`.
pub(crate) fn write_file_schema() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "line": {"type": "integer"},
        },
        "required": ["path", "content"],
    })
}

/// `text` in pieces of at most `bytes` bytes that end where a character does.
pub(crate) fn cut(text: &str, bytes: usize) -> Vec<&str> {
    let mut pieces = Vec::with_capacity(text.len() / bytes + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rest.floor_char_boundary(bytes));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// `count` words, with escapes and characters of several bytes among them.
pub(crate) fn words(count: usize) -> Vec<&'static str> {
    let mut dice = Dice::new(7);
    (0..count).map(|_| dice.pick(&WORDS)).collect()
}

/// How many events [`events`] makes before they repeat.
pub(crate) const EVENTS: usize = 1000;

/// What [`events`] say.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The deltas, markup included.
    deltas: Vec<String>,
    pub(crate) thinking: String,
    /// The text before the call, the call, its arguments, and the text behind it.
    pub(crate) before: String,
    pub(crate) call: String,
    pub(crate) arguments: String,
    pub(crate) after: String,
}

/// Deltas of about six bytes: a section of thinking, prose with escapes and multi-byte characters, one
/// tool call.
pub(crate) fn parts() -> Parts {
    let mut dice = Dice::new(1);
    let mut words = |count| (0..count).map(|_| dice.pick(&WORDS).to_owned()).collect::<Vec<_>>();
    let (thinking, before) = (words(198), words(740));
    let call = json_call(
        "<b>\"6 × 7\"</b> is 42 and 6 × 8 is 48, so the file has the two of them, and then some more of its text, which is here",
    );
    let pieces = cut(&call, call.len().div_ceil(60) + 2);
    let after = words(EVENTS - 940 - pieces.len());
    let mut parts = Parts {
        thinking: thinking.concat(),
        before: before.concat(),
        after: after.concat(),
        ..Parts::default()
    };
    let markers = ["<thinking>", "</thinking>"].map(|marker| vec![marker.to_owned()]);
    let [open, close] = markers;
    let pieces = pieces.into_iter().map(str::to_owned).collect();
    parts.deltas = [open, thinking, close, before, pieces, after].concat();
    let arguments =
        call.split_once(r#""arguments":"#).and_then(|(_, it)| it.split_once("}</tool>"));
    parts.arguments = arguments.map_or_else(String::new, |(arguments, _)| arguments.to_owned());
    parts.call = call;
    parts
}

/// Events of a stream with the deltas of [`parts`], written by `event`.
///
/// They share one buffer, so that the memory of a process is what reading them needs.
pub(crate) fn events(event: fn(&str) -> String) -> Vec<Bytes> {
    let mut deltas = parts().deltas;
    fault::spoil(fault::own(), &mut deltas);
    let mut text = String::with_capacity(EVENTS * 352);
    let mut ends = Vec::with_capacity(EVENTS);
    for delta in deltas {
        text.push_str(&event(&delta));
        ends.push(text.len());
    }
    let (text, mut start) = (Bytes::from(text), 0);
    let slice = |end| text.slice(std::mem::replace(&mut start, end)..end);
    ends.into_iter().map(slice).collect()
}

/// `text` as JSON; some characters are escapes, as some servers write them.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('é', "\\u00e9")
}

/// One event of a chat completion with one content delta, about 330 bytes.
pub(crate) fn event(delta: &str) -> String {
    delta_event(&format!("{{\"content\":{}}}", quoted(delta)))
}

/// One event of a chat completion with this delta.
pub(crate) fn delta_event(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-Bq0sVcVhO3xJw5nZ1mXk7Yt2\",\"object\":\"chat.completion.chunk\",\
         \"created\":1795313922,\"model\":\"gpt-5.2-2026-08-07\",\"service_tier\":\"default\",\
         \"system_fingerprint\":\"fp_50906f2aac\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
         \"logprobs\":null,\"finish_reason\":null}}],\"obfuscation\":\"kR0wzQ5dJ8vX2mN7pL\"}}\n\n"
    )
}

/// The events that end a response.
pub(crate) const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
