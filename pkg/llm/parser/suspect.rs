//! A closer inside a JSON string: data, or the end of a call whose string is broken.

/// Most bytes that are held back behind a suspect closer; with more, it was data.
const MAX_HELD_BYTES: usize = 64 << 10;

/// What a suspect closer turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More text decides.
    Unknown,
    /// The closer is part of the string.
    Data,
    /// The string is broken: the call ended at the closer.
    Closer,
}

/// Holds the text from a suspect closer on until the string ends.
#[derive(Debug)]
pub(super) struct Suspect {
    held: String,
    closer_bytes: usize,
    quote: u8,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InString,
    /// After a backslash.
    Escape,
    /// The string ended; the next byte that is no blank decides.
    Behind,
}

impl Suspect {
    /// `closer` was seen inside a string in `quote`s.
    pub(super) fn new(closer: &str, quote: u8) -> Self {
        let state = State::InString;
        Self { held: closer.to_owned(), closer_bytes: closer.len(), quote, state }
    }

    /// Everything held, the closer first.
    pub(super) fn text(&self) -> &str {
        &self.held
    }

    /// What is held behind the closer.
    pub(super) fn behind_closer(&self) -> &str {
        self.held.get(self.closer_bytes..).unwrap_or_default()
    }

    /// Whether only the byte behind the string is still missing.
    pub(super) fn has_string_ended(&self) -> bool {
        self.state == State::Behind
    }

    /// Goes on from `*at`.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Verdict {
        let start = *at;
        let mut verdict = Verdict::Unknown;
        for &byte in text.as_bytes().get(start..).unwrap_or_default() {
            if self.held.len() + (*at - start) >= MAX_HELD_BYTES && text.is_char_boundary(*at) {
                verdict = Verdict::Data;
                break;
            }
            match (self.state, byte) {
                (State::InString, b'\\') => self.state = State::Escape,
                (State::InString, _) if byte == self.quote => self.state = State::Behind,
                (State::Escape, _) => self.state = State::InString,
                (State::InString, _) | (State::Behind, b' ' | b'\t' | b'\n' | b'\r') => {}
                (State::Behind, b',' | b':' | b'}' | b']') => {
                    verdict = Verdict::Data;
                    break;
                }
                (State::Behind, _) => {
                    verdict = Verdict::Closer;
                    break;
                }
            }
            *at += 1;
        }
        self.held.push_str(text.get(start..*at).unwrap_or_default());
        verdict
    }
}
