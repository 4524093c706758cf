//! Quotes that seem to end a string: the end, or text that should have been escaped.

use super::{
    name::{is_name_start, is_word_byte},
    open_bracket::OpenBracket,
    suspect::{SuspectQuote, SuspectRole},
    values::{PythonValues, ValueMistake, ValuesPhase},
};
use forgeline_types::Repair;

/// Maximum length of the text that is held after such a quote, in bytes; if it is exceeded, the string has ended.
const MAX_HELD_BYTES: usize = 4096;

/// The meaning of a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteMeaning {
    /// More text decides.
    Unknown,
    /// The end of the string.
    End,
    Text,
}

impl PythonValues {
    /// Reads the next character after a quote that seems to end a string: holds it, or returns the text
    /// to read again once the meaning of the quote is known, after setting the state to read it in.
    pub(super) fn suspect(&mut self, next: char) -> Result<Option<String>, ValueMistake> {
        let meaning = match &self.suspect {
            Some(suspect) if suspect.held.len() < MAX_HELD_BYTES => self.meaning(suspect, next),
            Some(_) => QuoteMeaning::End,
            None => return Ok(None),
        };
        if meaning == QuoteMeaning::Unknown {
            if let Some(suspect) = &mut self.suspect {
                if next == ')' {
                    suspect.parenthesis = Some(suspect.held.len());
                }
                suspect.held.push(next);
            }
            return Ok(None);
        }
        self.settle(meaning == QuoteMeaning::End)
    }

    /// Decides whether the quote ended its string; returns the text after it.
    pub(super) fn settle(&mut self, is_end: bool) -> Result<Option<String>, ValueMistake> {
        let Some(SuspectQuote { role, mut string, held, .. }) = self.suspect.take() else {
            return Ok(None);
        };
        if is_end {
            let quoted = self.quoted.take();
            // One quote is left over, so the string may also end elsewhere.
            let is_next = held.trim_start().starts_with(',');
            self.is_unsure |= is_next && quoted.is_some_and(|it| it.count % 2 == 1);
            self.state = ValuesPhase::AfterText(role);
        } else {
            let quoted = self.quoted.get_or_insert_default();
            if quoted.begins_call() {
                return Err(("a string is not closed before the next call", held.len() + 1));
            }
            quoted.count += 1;
            quoted.behind.clear();
            self.repairs.insert(Repair::InvalidEscape);
            string.go_on();
            self.state = ValuesPhase::Text(role, string);
        }
        Ok(Some(held))
    }

    /// Determines the meaning of a quote from the text after it, up to `next`.
    fn meaning(&self, suspect: &SuspectQuote, next: char) -> QuoteMeaning {
        let byte = u8::try_from(next).ok().filter(u8::is_ascii).unwrap_or(0xFF);
        let is_broken = self.quoted.is_some();
        let bracket = self.innermost();
        let is_quote = matches!(byte, b'\'' | b'"');
        let end_or_text = |is_end| if is_end { QuoteMeaning::End } else { QuoteMeaning::Text };
        let behind = suspect.held.trim_ascii_start();
        if byte.is_ascii_whitespace() {
            return QuoteMeaning::Unknown;
        }
        let Some(first) = behind.bytes().next() else {
            return match (byte, bracket) {
                (b',' | b')', OpenBracket::Call) => QuoteMeaning::Unknown,
                (b':', _) => end_or_text(suspect.role != SuspectRole::Value),
                (b')', OpenBracket::Parenthesis | OpenBracket::Tuple) | (b',', _) => {
                    QuoteMeaning::End
                }
                (b']', OpenBracket::List) | (b'}', OpenBracket::Dict | OpenBracket::Set) => {
                    QuoteMeaning::End
                }
                // Adjacent strings are one string.
                _ if is_quote => end_or_text(!is_broken),
                _ if !is_broken && is_prefix(byte) => QuoteMeaning::Unknown,
                // An operator, which no literal contains.
                (b'+' | b'%' | b'*', _) if !suspect.held.is_empty() => end_or_text(!is_broken),
                _ => QuoteMeaning::Text,
            };
        };
        let rest = behind.get(1..).unwrap_or_default().trim_ascii_start();
        match first {
            b')' if is_quote || byte == b')' => QuoteMeaning::Text,
            b')' => end_or_text(!is_broken || !self.is_list || matches!(byte, b',' | b']')),
            b',' if rest.is_empty() && is_name_start(byte) && is_broken => QuoteMeaning::Unknown,
            b',' if rest.is_empty() => end_or_text(!is_quote || !self.has_named),
            b',' if is_word_byte(byte) => QuoteMeaning::Unknown,
            b',' => end_or_text(byte == b'='),
            // The prefix of another string, or a word in a place where none is allowed.
            _ if behind.len() == 1 && is_prefix(byte) => QuoteMeaning::Unknown,
            _ => end_or_text(is_quote && suspect.held.ends_with(behind)),
        }
    }
}

/// Returns `true` for a letter in a string prefix.
fn is_prefix(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'r' | b'f' | b'u')
}
