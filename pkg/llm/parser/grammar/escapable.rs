//! Conversion of text between tags to the content of a JSON string, after a single check of all of it.

use super::{entity::predefined, reader::Plain};
use forgeline_json::{BACKSLASH, ByteKind, CONTROL, Finder, QUOTE, escape_of, slice};

const ANGLE: Finder<1> = Finder::new([ByteKind::of(b'<')]);
/// One bit distinguishes `&` from `"`.
const QUOTE_OR_AND: ByteKind = ByteKind::new(!0x04, b'&');

/// Text between tags without a `<`, and its bytes that must be escaped in a JSON string, as one bit
/// each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Escapable<'t> {
    text: &'t str,
    others: u64,
}

impl<'t> Escapable<'t> {
    /// Returns text of at most a wide block inside a value that is `plain`; `None` for text of another length or
    /// place, and if it may contain a tag, or the line end before one.
    #[inline(always)]
    pub(crate) fn of(plain: Plain, text: &'t str) -> Option<Self> {
        let quote = match plain {
            Plain::MarkupRules => QUOTE,
            Plain::Framed if !text.ends_with(['\n', '\r']) => QUOTE,
            Plain::Entities => QUOTE_OR_AND,
            Plain::Framed
            | Plain::Nothing
            | Plain::JsonString
            | Plain::PythonString
            | Plain::PythonRaw
            | Plain::MarkupTail
            | Plain::Verbatim
            | Plain::InBrackets => return None,
        };
        if ANGLE.found_in(text.as_bytes()) != Some(0) {
            return None;
        }
        let others = Finder::new([BACKSLASH, CONTROL, quote]).found_in(text.as_bytes())?;
        Some(Self { text, others })
    }

    /// Returns `true` for text that passes unchanged.
    #[inline(always)]
    pub(crate) fn is_verbatim(self) -> bool {
        self.others == 0
    }

    /// Emits the text as the content of a JSON string; returns the number of bytes emitted, which is less
    /// than all if the check does not determine what follows: an entity whose name is not one of XML's own, or
    /// the beginning of one.
    #[inline(always)]
    pub(crate) fn give(self, out: &mut impl FnMut(&str)) -> usize {
        let Self { text, mut others } = self;
        let mut from = 0;
        while others != 0 {
            let at = others.trailing_zeros() as usize;
            others &= others - 1;
            let (json, length) = match text.as_bytes().get(at) {
                Some(b'&') => match predefined(slice(text, at..)) {
                    Some(("\"", length)) => ("\\\"", length),
                    Some(entity) => entity,
                    None => {
                        give_run(slice(text, from..at), out);
                        return at;
                    }
                },
                Some(byte) => (escape_of(*byte), 1),
                None => break,
            };
            give_run(slice(text, from..at), out);
            out(json);
            from = at + length;
        }
        give_run(slice(text, from..), out);
        text.len()
    }
}

/// The entities named by XML, and their meaning in a JSON string.
const ENTITIES: [(&str, &str); 5] =
    [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&quot;", "\\\""), ("&apos;", "'")];

/// A named entity whose beginning ended a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CutEntity(&'static str);

impl CutEntity {
    /// The maximum length of such a beginning, in bytes.
    pub(crate) const MAX_BYTES: usize = 5;

    /// Returns the entity that begins with `text`.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (entity, _) = ENTITIES.iter().find(|(entity, _)| entity.starts_with(text))?;
        Some(Self(slice(entity, ..text.len())))
    }

    /// Returns the beginning that was read.
    pub(crate) fn text(self) -> &'static str {
        self.0
    }

    /// Returns the whole entity and its meaning in a JSON string, if `text` begins with the rest of it.
    pub(crate) fn whole(self, text: &str) -> Option<(&'static str, &'static str)> {
        let is_whole = |(entity, _): &&(&str, &str)| {
            entity.strip_prefix(self.0).is_some_and(|rest| text.starts_with(rest))
        };
        ENTITIES.iter().find(is_whole).copied()
    }
}

#[inline(always)]
fn give_run(text: &str, out: &mut impl FnMut(&str)) {
    if !text.is_empty() {
        out(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::dice::dice;
    use forgeline_json::escape_into;

    #[test]
    fn one_look_gives_what_entities_and_escapes_give_one_after_the_other() {
        let parts = [
            "a",
            "é",
            " & ",
            "&&",
            "&lt;",
            "&gt;",
            "&amp;",
            "&quot;",
            "&apos;",
            "&#65;",
            "&no;",
            "\"",
            "\\",
            "\n",
            "\t",
            "\u{1}",
            "|",
            "plain text of some length ",
            "日本",
            "<",
            "&l",
            "x\r",
        ];
        let mut next = dice();
        let (mut whole, mut fronts, mut verbatim) = (0, 0, 0);
        for _ in 0..60_000 {
            let mut text = String::new();
            for _ in 0..next(16) {
                text.push_str(parts[next(parts.len()).min(next(parts.len()))]);
            }
            for plain in [Plain::Entities, Plain::MarkupRules, Plain::Framed] {
                let Some(markup) = Escapable::of(plain, &text) else { continue };
                assert!(!text.contains('<'), "{text:?}");
                assert!(plain != Plain::Framed || !text.ends_with(['\n', '\r']), "{text:?}");
                let mut json = String::new();
                let length = markup.give(&mut |piece| json.push_str(piece));
                let (front, rest) = text.split_at(length);
                let decoded =
                    if plain == Plain::Entities { decode(front) } else { front.to_owned() };
                let mut want = String::new();
                escape_into(&decoded, &mut |piece| want.push_str(piece));
                assert_eq!(json, want, "{plain:?}: {text:?}");
                assert_eq!(markup.is_verbatim(), want == text, "{plain:?}: {text:?}");
                whole += usize::from(length == text.len());
                fronts += usize::from(length < text.len());
                verbatim += usize::from(markup.is_verbatim());
                let is_named = predefined(rest).is_some();
                assert!(rest.is_empty() || rest.starts_with('&') && !is_named, "{text:?}");
            }
        }
        assert!(whole > 10_000 && fronts > 1_000 && verbatim > 100, "{whole} {fronts} {verbatim}");
    }

    #[test]
    fn an_entity_is_known_however_it_is_cut() {
        for (entity, json) in ENTITIES {
            assert_eq!(CutEntity::of(entity).map(CutEntity::text), Some(entity));
            for at in 1..entity.len() {
                let (front, rest) = entity.split_at(at);
                let cut = CutEntity::of(front).unwrap();
                assert_eq!(cut.text(), front);
                assert_eq!(cut.whole(&format!("{rest} and")), Some((entity, json)));
                let (less, _) = rest.split_at(rest.len() - 1);
                for other in ["", "x", "&", less, "#65;"] {
                    assert_eq!(cut.whole(other), None, "{front} {other}");
                }
            }
        }
        for other in ["&x", "&lt;x", "&l;", "&#", "& ", "&amx"] {
            assert_eq!(CutEntity::of(other), None);
        }
    }

    fn decode(text: &str) -> String {
        let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'")];
        let text = names.iter().fold(text.to_owned(), |text, (name, is)| text.replace(name, is));
        text.replace("&amp;", "&")
    }
}
