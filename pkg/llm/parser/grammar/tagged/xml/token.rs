//! XML in pieces: text, tags, CDATA. The concatenation of the tokens is the source.
//!
//! Models write `a < b` and `x && y` into their values, so a `<` that begins no name is text.

use compact_str::CompactString;

use forgeline_json::slice;

/// Maximum length of a tag, in bytes between its angle brackets; a longer one is text.
const MAX_TAG_BYTES: usize = 256;

/// One piece of XML, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XmlToken<'a> {
    /// Text as written; entities are not decoded.
    Text(&'a str),
    /// A tag that ended before byte `at` of the current piece: the text between its brackets.
    Tag { tag: &'a str, at: usize },
    /// Text inside a CDATA section, verbatim.
    Cdata(&'a str),
    /// Source that is not content: comments, and the brackets of CDATA sections.
    Aside(&'a str),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TokenPhase {
    #[default]
    Text,
    /// `<` and the bytes in `held` may become a tag, a comment or a CDATA section.
    MarkupRules,
    /// Inside a comment or a CDATA section, after this number of bytes of its end.
    Inside { is_cdata: bool, matched: usize },
}

const COMMENT_START: &str = "!--";
const CDATA_START: &str = "![CDATA[";

/// A splitter of XML, in pieces of any size, into tokens.
#[derive(Debug, Default)]
pub(super) struct XmlTokens {
    state: TokenPhase,
    /// The text after the `<`; bounded by [`MAX_TAG_BYTES`].
    held: CompactString,
}

impl XmlTokens {
    /// Returns `true` inside a CDATA section or a comment, in which no marker counts.
    pub(super) fn is_protected(&self) -> bool {
        matches!(self.state, TokenPhase::Inside { .. })
    }

    /// Returns `true` if the next byte is text, unless it is a `<`.
    pub(super) fn is_in_text(&self) -> bool {
        self.state == TokenPhase::Text
    }

    /// Reads the next piece.
    pub(super) fn feed(&mut self, text: &str, out: &mut impl FnMut(XmlToken<'_>)) {
        let mut at = 0;
        while at < text.len() {
            let rest = slice(text, at..);
            at += match self.state {
                TokenPhase::Text => {
                    let plain = memchr::memchr(b'<', rest.as_bytes()).unwrap_or(rest.len());
                    if plain > 0 {
                        out(XmlToken::Text(slice(rest, ..plain)));
                        plain
                    } else {
                        self.state = TokenPhase::MarkupRules;
                        self.held.clear();
                        1
                    }
                }
                TokenPhase::MarkupRules => self.markup(rest, at, out),
                TokenPhase::Inside { is_cdata, matched } => {
                    let end = if is_cdata { "]]>" } else { "-->" };
                    let (taken, matched) = find_end(rest, end, matched, &mut |text| {
                        out(if is_cdata { XmlToken::Cdata(text) } else { XmlToken::Aside(text) });
                    });
                    self.state = TokenPhase::Inside { is_cdata, matched };
                    if matched == end.len() {
                        self.state = TokenPhase::Text;
                        out(XmlToken::Aside(end));
                    }
                    taken
                }
            };
        }
    }

    /// Reads one more character after a `<`.
    fn markup(&mut self, rest: &str, at: usize, out: &mut impl FnMut(XmlToken<'_>)) -> usize {
        let Some(next) = rest.chars().next() else { return 0 };
        let is_first = self.held.is_empty();
        let may_follow = if is_first {
            next.is_ascii_alphabetic() || matches!(next, '_' | '/' | '!' | '?')
        } else {
            next != '<' && self.held.len() < MAX_TAG_BYTES
        };
        if next == '>' && may_follow && !self.held.starts_with("!--") {
            out(XmlToken::Tag { tag: &self.held, at: at + 1 });
            self.state = TokenPhase::Text;
            return 1;
        }
        if !may_follow {
            self.give_back(out);
            return 0;
        }
        if !is_first && !self.held.starts_with('!') {
            return self.hold_name(rest);
        }
        self.held.push(next);
        if self.held == COMMENT_START {
            self.state = TokenPhase::Inside { is_cdata: false, matched: 0 };
            out(XmlToken::Aside("<!--"));
        } else if self.held == CDATA_START {
            self.state = TokenPhase::Inside { is_cdata: true, matched: 0 };
            out(XmlToken::Aside("<![CDATA["));
        } else if self.held.starts_with('!')
            && !CDATA_START.starts_with(self.held.as_str())
            && !COMMENT_START.starts_with(self.held.as_str())
        {
            self.give_back(out);
        }
        next.len_utf8()
    }

    /// Holds more of a tag, unless a comment may begin with it; returns the number of bytes read, none of which is an angle bracket.
    fn hold_name(&mut self, rest: &str) -> usize {
        let room = rest.ceil_char_boundary((MAX_TAG_BYTES - self.held.len()).min(rest.len()));
        let rest = slice(rest, ..room);
        let end = memchr::memchr2(b'<', b'>', rest.as_bytes()).unwrap_or(rest.len());
        self.held.push_str(slice(rest, ..end));
        end
    }

    /// Emits as text what looked like a tag.
    fn give_back(&mut self, out: &mut impl FnMut(XmlToken<'_>)) {
        self.state = TokenPhase::Text;
        out(XmlToken::Text("<"));
        if !self.held.is_empty() {
            out(XmlToken::Text(&self.held));
        }
    }
}

/// Searches for `end` (whose first two bytes are equal), of which `matched` bytes have been read; emits the text
/// before it. Returns the number of bytes read and the number of bytes of `end` matched.
fn find_end(
    text: &str,
    end: &'static str,
    mut matched: usize,
    out: &mut impl FnMut(&str),
) -> (usize, usize) {
    let (first, last) = (end.as_bytes()[0], b'>');
    let bytes = text.as_bytes();
    if matched == 0 {
        let plain = memchr::memchr(first, bytes).unwrap_or(bytes.len());
        if plain > 0 {
            out(slice(text, ..plain));
            return (plain, 0);
        }
    }
    match bytes.first() {
        Some(&byte) if byte == first && matched == 2 => out(slice(end, ..1)),
        Some(&byte) if byte == first => matched += 1,
        Some(&byte) if byte == last && matched == 2 => matched = 3,
        Some(_) => {
            out(slice(end, ..matched));
            return (0, 0);
        }
        None => return (0, matched),
    }
    (1, matched)
}
