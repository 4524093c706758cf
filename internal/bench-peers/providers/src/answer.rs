//! The answer that every client reads: made up, the same at every run.

use std::fmt::Write as _;

/// How many deltas there are before they repeat.
pub(crate) const DELTAS: usize = 1000;

const WORDS: [&str; 32] = [
    " the",
    " client",
    " reads",
    " what",
    " its",
    " server",
    " sends",
    " on",
    ", and",
    " a",
    " naïve",
    " loop",
    " copies",
    " every",
    " small",
    " delta",
    ".",
    " So",
    " nothing",
    " is",
    " \"lost\"",
    "\n",
    " 東京",
    " word",
    " by",
    " word",
    " until",
    " the",
    " answer",
    " ends",
    ";",
    " then",
];

/// The deltas of an answer, about six bytes each, with escapes and characters of several bytes.
pub(crate) fn deltas() -> Vec<&'static str> {
    // A linear congruential generator: no crate, and no run differs from another.
    let mut state: u64 = 1;
    let words = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(state >> 33).unwrap_or_default() % WORDS.len();
        WORDS.get(at).copied().unwrap_or_default()
    });
    words.take(DELTAS).collect()
}

/// What opens the response.
pub(crate) fn first_event() -> String {
    event(r#"{"role":"assistant","content":""}"#, "null")
}

/// One event with one delta, about 330 bytes.
pub(crate) fn delta_event(delta: &str) -> String {
    // Some servers write such characters as escapes.
    let content = serde_json::Value::from(delta).to_string().replace('ï', "\\u00ef");
    event(&format!("{{\"content\":{content}}}"), "null")
}

/// What ends the response: the reason, the usage, and the marker behind them.
pub(crate) fn last_events() -> [String; 3] {
    let head = head();
    let usage = format!(
        "data: {{{head},\"choices\":[],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":20000,\
         \"total_tokens\":20009}}}}\n\n"
    );
    [event("{}", r#""stop""#), usage, "data: [DONE]\n\n".to_owned()]
}

fn event(delta: &str, finish_reason: &str) -> String {
    let head = head();
    format!(
        "data: {{{head},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\
         \"finish_reason\":{finish_reason}}}],\"obfuscation\":\"kR0wzQ5dJ8vX2mN7pL\"}}\n\n"
    )
}

fn head() -> &'static str {
    "\"id\":\"chatcmpl-Bq0sVcVhO3xJw5nZ1mXk7Yt2\",\"object\":\"chat.completion.chunk\",\
     \"created\":1795313922,\"model\":\"gpt-5.2-2026-08-07\",\"service_tier\":\"default\",\
     \"system_fingerprint\":\"fp_50906f2aac\""
}

/// Bytes of the body with `count` deltas, without the frames of its chunks.
pub(crate) fn body_bytes(count: usize) -> usize {
    let ends: usize = last_events().iter().map(String::len).sum();
    first_event().len() + repeated(count, |delta| delta_event(delta).len()) + ends
}

/// The bytes of `count` deltas. Looks at each only once: it must not cost by the length of the answer
/// where that is what clients are measured by.
fn repeated(count: usize, bytes: impl Fn(&str) -> usize) -> usize {
    let bytes: Vec<_> = deltas().into_iter().map(bytes).collect();
    let rest: usize = bytes.iter().take(count % DELTAS).sum();
    bytes.iter().sum::<usize>() * (count / DELTAS) + rest
}

/// `event` as a chunk of an HTTP body.
pub(crate) fn framed(event: &str) -> String {
    let mut chunk = String::with_capacity(event.len() + 8);
    write!(chunk, "{:x}\r\n{event}\r\n", event.len()).unwrap_or_default();
    chunk
}

/// Compares text that arrives with the answer, and counts it.
#[derive(Debug)]
pub(crate) struct Reading {
    text: String,
    /// Where in `text` the next delta begins.
    at: usize,
    pub(crate) deltas: usize,
    pub(crate) bytes: usize,
    pub(crate) is_right: bool,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self { text: deltas().concat(), at: 0, deltas: 0, bytes: 0, is_right: true }
    }

    /// The next piece of the answer's text.
    pub(crate) fn add(&mut self, mut piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.deltas += 1;
        self.bytes += piece.len();
        while !piece.is_empty() && self.is_right {
            let expected = self.text.get(self.at..).unwrap_or_default();
            let (head, rest) = piece.split_at(piece.floor_char_boundary(expected.len()));
            self.is_right = !head.is_empty() && expected.starts_with(head);
            self.at = (self.at + head.len()) % self.text.len();
            piece = rest;
        }
    }

    /// Whether it was the whole answer of `count` deltas, and nothing else.
    pub(crate) fn is_whole(&self, count: usize) -> bool {
        self.is_right && self.bytes == repeated(count, str::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_however_it_is_cut_and_not_with_a_letter_less() {
        let count = DELTAS + 7;
        let text: String = deltas().iter().cycle().take(count).copied().collect();
        for bytes in [4, 7, 100, text.len()] {
            let (mut reading, mut rest) = (Reading::new(), text.as_str());
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(rest.floor_char_boundary(bytes));
                reading.add(piece);
                rest = tail;
            }
            assert!(reading.is_whole(count), "pieces of {bytes} bytes");
            assert!(!reading.is_whole(count + 1), "a delta is missing");
        }
        let mut reading = Reading::new();
        reading.add(&text.replacen('e', "o", 1));
        assert!(!reading.is_whole(count), "one letter differs");
    }

    #[test]
    fn events_are_as_large_as_they_are_said_to_be() {
        let bytes: usize = deltas().iter().map(|delta| delta_event(delta).len()).sum();
        let mean = bytes / DELTAS;
        assert!((310..=350).contains(&mean), "{mean} bytes");
        let text: usize = deltas().iter().map(|delta| delta.len()).sum();
        assert!((4..=7).contains(&(text / DELTAS)), "{text} bytes of text");
    }
}
