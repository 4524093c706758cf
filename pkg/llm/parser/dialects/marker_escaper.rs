//! Neutralization of family markers in outside text: a tool's output must not end its own result,
//! speak in another role, or become a call when the model repeats it.

use std::{borrow::Cow, fmt::Write as _, sync::OnceLock};

use serde::de::IgnoredAny;

use crate::{ThinkingDialect, ToolDialect, families::ResultForm};

/// Roles and turns as prompt templates write them, in addition to special tokens, which are recognized by
/// their form. All are matched in any ASCII case.
const ROLES: &[&str] = &[
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<beginning_of_sentence>",
    "<end_of_sentence>",
    "<seed:bos>",
    "<seed:eos>",
    "<SPECIAL_",
    "<role>",
    "</role>",
    "<system>",
    "</system>",
    "<user>",
    "</user>",
    "<assistant>",
    "</assistant>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CONTENT]",
    "[CALL_ID]",
    "[ARGS]",
    "[gMASK]",
    "<sop>",
    "]~b]",
    "]<]minimax[>[",
    "]~!b[",
    "[e~[",
];

/// Maximum length of a name in a token that ends with a bar, such as `<turn|>`, in bytes.
const MAX_NAME_BYTES: usize = 48;

/// A filter that breaks the markers of a family in outside text, so that the text is read and not obeyed.
///
/// A backslash after a marker's first character breaks it: `<\|im_end|>`, `<\/tool_result>`. In JSON
/// that character is escaped, which leaves the value unchanged: `"\u003c|im_end|>"`.
#[derive(Debug, Clone)]
pub struct MarkerEscaper {
    tools: ToolDialect,
    thinking: ThinkingDialect,
    /// Computed for the first text: most agents with native calls never need it.
    around: OnceLock<Box<MarkerContext>>,
}

/// The other markers that matter in outside text.
#[derive(Debug, Clone)]
struct MarkerContext {
    /// The tags and headings around results.
    results: Vec<String>,
    /// The bytes with which a marker may begin.
    firsts: [bool; 256],
}

impl MarkerEscaper {
    /// Creates a filter for the markers of these dialects, those around results, and special tokens.
    #[doc(hidden)]
    pub fn new(tools: &ToolDialect, thinking: &ThinkingDialect) -> Self {
        // A model without a dialect of its own may write any dialect.
        let tools = if tools.is_none() { &ToolDialect::AUTO } else { tools };
        Self { tools: tools.clone(), thinking: thinking.clone(), around: OnceLock::new() }
    }

    fn around(&self) -> &MarkerContext {
        self.around.get_or_init(|| {
            let (calls, reasoning) = (self.tools.compiled(), self.thinking.compiled());
            let mut firsts = [false; 256];
            for byte in calls.first_bytes().chain(reasoning.first_bytes()).chain(*b"<[]#") {
                for case in [byte, byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                    if let Some(first) = firsts.get_mut(usize::from(case)) {
                        *first = true;
                    }
                }
            }
            Box::new(MarkerContext { results: words_around(&self.tools.result_form()), firsts })
        })
    }

    /// Breaks the markers in `text`; if it is JSON, without changing its value.
    #[doc(hidden)]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        if self.first(text, 0).is_none() {
            return Cow::Borrowed(text);
        }
        // A marker outside strings cannot be escaped.
        if let Some(json) = is_json(text).then(|| self.json(text)).filter(|json| is_json(json)) {
            return json;
        }
        self.broken(text, |first, out| {
            out.push(first);
            out.push('\\');
        })
    }

    /// Breaks the markers in the strings of a JSON text.
    #[doc(hidden)]
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.broken(json, |first, out| {
            let mut units = [0; 2];
            for unit in first.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _written = write!(out, "\\u{unit:04x}");
            }
        })
    }

    fn broken<'a>(&self, text: &'a str, write: impl Fn(char, &mut String)) -> Cow<'a, str> {
        let (mut out, mut done) = (String::new(), 0);
        while let Some(at) = self.first(text, done) {
            let (before, rest) = text.split_at(at);
            out.push_str(before.get(done..).unwrap_or_default());
            let Some(first) = rest.chars().next() else { break };
            write(first, &mut out);
            done = at + first.len_utf8();
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns the position of the first marker from byte `from` on.
    fn first(&self, text: &str, from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let mut places = rest.char_indices().map(|(at, _)| from + at);
        places.find(|at| self.stands_at(text.as_bytes().get(*at..).unwrap_or_default()))
    }

    /// Returns `true` if `text` begins with a marker.
    fn stands_at(&self, text: &[u8]) -> bool {
        let MarkerContext { results, firsts } = self.around();
        let may_begin = |byte: &u8| firsts.get(usize::from(*byte)).is_some_and(|it| *it);
        if !text.first().is_some_and(may_begin) {
            return false;
        }
        is_token(text)
            || ROLES.iter().any(|role| begins(text, role))
            || results.iter().any(|word| begins_name(text, word))
            || self.tools.compiled().resembles(text)
            || self.thinking.compiled().resembles(text)
    }
}

/// Returns `true` for the beginning of a special token: `<|name`, `<｜name`, `</｜name`, `<name|>`.
fn is_token(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"<") else { return false };
    let inner = rest.strip_prefix(b"/").unwrap_or(rest);
    let bar = inner.strip_prefix(b"|").or_else(|| inner.strip_prefix("｜".as_bytes()));
    if let Some(name) = bar {
        return name.first().is_some_and(|byte| byte.is_ascii_graphic() && !b"=<>|".contains(byte))
            || name.first().is_some_and(|byte| !byte.is_ascii());
    }
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_:-".contains(byte);
    let name = inner.iter().take(MAX_NAME_BYTES).take_while(is_name).count();
    name > 0 && inner.get(name..).is_some_and(|end| end.starts_with(b"|"))
}

/// Returns `true` if `text` begins with `word`, in any ASCII case.
fn begins(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|front| front.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns `true` if `text` begins with `word` and no longer name.
fn begins_name(text: &[u8], word: &str) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    begins(text, word) && !text.get(word.len()).is_some_and(goes_on)
}

/// Returns the beginnings of the tags, brackets and headings that a form writes around results.
fn words_around(form: &ResultForm) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in [form.before, form.each, form.between, form.after] {
        for piece in part.split(['{', '}']) {
            let headings = piece.lines().map(str::trim_end).filter(|line| line.starts_with("## "));
            words.extend(headings.map(str::to_owned));
            for (at, _) in piece.match_indices(['<', '[']) {
                let (_, tag) = piece.split_at(at);
                let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"</[_:".contains(byte);
                let length = tag.bytes().take_while(name).count();
                words.extend(tag.get(..length).filter(|word| word.len() > 2).map(str::to_owned));
            }
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}
