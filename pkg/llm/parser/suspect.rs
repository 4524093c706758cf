//! A closer inside a string or value: data, or the end of a call whose string is broken.

use super::{payload::Payload, reader::Guard};

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

/// Holds the text from a suspect closer on until the string or value ends.
#[derive(Debug)]
pub(super) struct Suspect {
    held: String,
    closer_bytes: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a string that `quote` ends, of which so many bytes were seen.
    InString { quote: &'static str, matched: usize },
    /// After a backslash.
    Escape(&'static str),
    /// The string ended; the next byte that is no blank decides.
    Behind,
    /// In a value that a tag of its grammar ends; so many bytes were searched for one.
    InValue { searched: usize },
}

impl Suspect {
    /// `closer` was seen where `guard` stands; `None` when it is no place for suspicion.
    pub(super) fn new(closer: &str, guard: Guard) -> Option<Self> {
        let state = match guard {
            Guard::InString(quote) => State::InString { quote, matched: 0 },
            Guard::InValue => State::InValue { searched: closer.len() },
            Guard::Open | Guard::Closed | Guard::ClosersOnly => return None,
        };
        Some(Self { held: closer.to_owned(), closer_bytes: closer.len(), state })
    }

    /// Everything held, the closer first.
    pub(super) fn text(&self) -> &str {
        &self.held
    }

    /// The closer.
    pub(super) fn closer(&self) -> &str {
        self.held.get(..self.closer_bytes).unwrap_or_default()
    }

    /// What is held behind the closer.
    pub(super) fn behind_closer(&self) -> &str {
        self.held.get(self.closer_bytes..).unwrap_or_default()
    }

    /// Whether it is a string that is not closed, rather than a value.
    pub(super) fn is_in_string(&self) -> bool {
        !matches!(self.state, State::InValue { .. })
    }

    /// Whether only the byte behind the string is still missing.
    pub(super) fn has_string_ended(&self) -> bool {
        self.state == State::Behind
    }

    /// Goes on from `*at`.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize, payload: &Payload) -> Verdict {
        if let State::InValue { searched } = self.state {
            return self.in_value(searched, text, at, payload);
        }
        let start = *at;
        let mut verdict = Verdict::Unknown;
        for &byte in text.as_bytes().get(start..).unwrap_or_default() {
            if self.held.len() + (*at - start) >= MAX_HELD_BYTES && text.is_char_boundary(*at) {
                verdict = Verdict::Data;
                break;
            }
            verdict = self.step(byte);
            if verdict != Verdict::Unknown {
                break;
            }
            *at += 1;
        }
        self.held.push_str(text.get(start..*at).unwrap_or_default());
        verdict
    }

    fn step(&mut self, byte: u8) -> Verdict {
        match (self.state, byte) {
            (State::InString { quote, .. }, b'\\') if quote.len() == 1 => {
                self.state = State::Escape(quote);
            }
            (State::InString { quote, matched }, _) => {
                let quote_bytes = quote.as_bytes();
                let matched = if quote_bytes.get(matched) == Some(&byte) {
                    matched + 1
                } else {
                    usize::from(quote_bytes.first() == Some(&byte))
                };
                self.state = if matched == quote.len() {
                    State::Behind
                } else {
                    State::InString { quote, matched }
                };
            }
            (State::Escape(quote), _) => self.state = State::InString { quote, matched: 0 },
            (State::Behind, b' ' | b'\t' | b'\n' | b'\r') | (State::InValue { .. }, _) => {}
            (State::Behind, b',' | b':' | b'}' | b']' | b')') => return Verdict::Data,
            (State::Behind, _) => return Verdict::Closer,
        }
        Verdict::Unknown
    }

    /// Looks for a tag that ends the value. What is held is settled at the first such tag, wherever
    /// the pieces are cut: the search stops at its last byte.
    fn in_value(
        &mut self,
        searched: usize,
        text: &str,
        at: &mut usize,
        payload: &Payload,
    ) -> Verdict {
        /// Longer than the longest tag that ends a value.
        const MAX_TAG_BYTES: usize = 128;
        let rest = text.get(*at..).unwrap_or_default();
        for (offset, piece) in rest.char_indices() {
            if self.held.len() >= MAX_HELD_BYTES {
                *at += offset;
                return Verdict::Data;
            }
            self.held.push(piece);
            if piece != '>' {
                continue;
            }
            let from = self.held.len().saturating_sub(MAX_TAG_BYTES).max(searched);
            let from = self.held.ceil_char_boundary(from);
            if payload.ends_value(self.held.get(from..).unwrap_or_default()) {
                *at += offset + piece.len_utf8();
                return Verdict::Data;
            }
        }
        *at = text.len();
        Verdict::Unknown
    }
}
