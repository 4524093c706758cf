//! The form in which a file has its text: encoding, byte order mark and line ends. Changes keep it.

use crate::tools::ToolError;

/// The byte order mark, as a character.
const MARK: char = '\u{feff}';

/// The characters of Windows-1252 from 0x80 to 0x9F; bytes that it leaves open are the control characters of their number.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// Not UTF-8, and taken as the most usual of the encodings with one byte a character.
    Windows1252,
}

/// The line ends of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    Lf,
    CrLf,
    Mixed,
}

/// The form in which a file has its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextForm {
    encoding: TextEncoding,
    has_mark: bool,
    ends: LineEnds,
}

/// The text of a file, with its line ends, and its form.
pub(super) struct FormedText {
    pub(super) text: String,
    pub(super) form: TextForm,
}

impl FormedText {
    /// Reads the bytes of a file; `None` if they are not text. With `repairs`, bytes in a text in UTF-8 that are not UTF-8 become U+FFFD.
    pub(super) fn read(bytes: &[u8], repairs: bool) -> Option<(Self, usize)> {
        let (encoding, has_mark, bytes) = match bytes {
            [0xef, 0xbb, 0xbf, rest @ ..] => (TextEncoding::Utf8, true, rest),
            [0xff, 0xfe, rest @ ..] if rest.len() % 2 == 0 => (TextEncoding::Utf16Le, true, rest),
            [0xfe, 0xff, rest @ ..] if rest.len() % 2 == 0 => (TextEncoding::Utf16Be, true, rest),
            _ => (TextEncoding::Utf8, false, bytes),
        };
        let (text, encoding, bad) = match encoding {
            TextEncoding::Utf16Le => (utf_16(bytes, u16::from_le_bytes)?, encoding, 0),
            TextEncoding::Utf16Be => (utf_16(bytes, u16::from_be_bytes)?, encoding, 0),
            TextEncoding::Utf8 | TextEncoding::Windows1252 if bytes.contains(&0) => return None,
            TextEncoding::Utf8 | TextEncoding::Windows1252 => match str::from_utf8(bytes) {
                Ok(text) => (text.to_owned(), encoding, 0),
                Err(_) if !has_mark && !has_wide_characters(bytes) => {
                    let text = bytes.iter().map(|byte| character(*byte)).collect();
                    (text, TextEncoding::Windows1252, 0)
                }
                Err(_) if repairs => {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    let bad = bytes.utf8_chunks().filter(|it| !it.invalid().is_empty()).count();
                    (text, encoding, bad)
                }
                Err(_) => return None,
            },
        };
        let ends = LineEnds::of(&text);
        Some((Self { text, form: TextForm { encoding, has_mark, ends } }, bad))
    }
}

impl LineEnds {
    fn of(text: &str) -> Self {
        let (all, long) = (text.matches('\n').count(), text.matches("\r\n").count());
        match long {
            0 => Self::Lf,
            _ if long == all => Self::CrLf,
            _ => Self::Mixed,
        }
    }
}

impl TextForm {
    /// Returns what is unusual about the form, such as `CRLF line ends`; empty for UTF-8 with LF.
    pub(super) fn note(self) -> String {
        let encoding = match (self.encoding, self.has_mark) {
            (TextEncoding::Utf8, false) => "",
            (TextEncoding::Utf8, true) => "UTF-8 with a BOM",
            (TextEncoding::Utf16Le, _) => "UTF-16LE with a BOM",
            (TextEncoding::Utf16Be, _) => "UTF-16BE with a BOM",
            (TextEncoding::Windows1252, _) => "read as Windows-1252",
        };
        let ends = match self.ends {
            LineEnds::Lf => "",
            LineEnds::CrLf => "CRLF line ends",
            LineEnds::Mixed => "mixed line ends (LF and CRLF)",
        };
        let parts = [encoding, ends].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Returns `true` if some lines end in LF and others in CRLF.
    pub(super) fn is_mixed(self) -> bool {
        self.ends == LineEnds::Mixed
    }

    /// Returns what is kept of the form when this text is written, for the model; empty if nothing is unusual.
    pub(super) fn kept(self, given: &str) -> String {
        let note = match self.note() {
            note if note.is_empty() && given.contains("\r\n") => "LF line ends".to_owned(),
            note => note,
        };
        if note.is_empty() { note } else { format!(" (kept: {note})") }
    }

    /// Returns a text of the model with the file's line ends; where the file's are mixed, those of the text.
    pub(super) fn with_ends(self, text: &str) -> String {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        match self.ends {
            LineEnds::Mixed => text.to_owned(),
            LineEnds::Lf if !text.contains('\r') => text.to_owned(),
            LineEnds::Lf => text.replace("\r\n", "\n"),
            LineEnds::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        }
    }

    /// Returns the bytes of a text in the encoding of the file `path`.
    ///
    /// # Errors
    ///
    /// Returns an error for a character that the encoding does not have.
    pub(super) fn bytes(self, path: &str, text: &str) -> Result<Vec<u8>, ToolError> {
        let mark = if self.has_mark { MARK.to_string() } else { String::new() };
        let units = || mark.encode_utf16().chain(text.encode_utf16());
        Ok(match self.encoding {
            TextEncoding::Utf8 => (mark + text).into_bytes(),
            TextEncoding::Utf16Le => units().flat_map(u16::to_le_bytes).collect(),
            TextEncoding::Utf16Be => units().flat_map(u16::to_be_bytes).collect(),
            TextEncoding::Windows1252 => {
                let foreign = |it| {
                    ToolError::failed(format!(
                        "`{path}` is not UTF-8, and is written as Windows-1252, which has no {it:?}; nothing was done"
                    ))
                };
                let byte = |it| byte(it).ok_or_else(|| foreign(it));
                text.chars().map(byte).collect::<Result<_, _>>()?
            }
        })
    }
}

/// Reads UTF-16; `None` if it is damaged.
fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, _) = bytes.as_chunks::<2>();
    String::from_utf16(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<_>>()).ok()
}

/// Returns `true` if the bytes have a character of UTF-8 with several bytes.
fn has_wide_characters(bytes: &[u8]) -> bool {
    bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii())
}

fn character(byte: u8) -> char {
    let special = byte.checked_sub(0x80).and_then(|at| WINDOWS_1252.get(usize::from(at)));
    special.copied().unwrap_or(char::from(byte))
}

fn byte(character: char) -> Option<u8> {
    let special = WINDOWS_1252.iter().position(|it| *it == character);
    match special {
        Some(at) => u8::try_from(at).ok().map(|at| at + 0x80),
        None => u8::try_from(character).ok().filter(|byte| !(0x80..0xa0).contains(byte)),
    }
}
