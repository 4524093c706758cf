//! The markup of a call around words that are not one.

/// The opener and the closer around words that were meant as a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallMarkup<'a> {
    pub(super) opener: &'a str,
    pub(super) closer: &'a str,
}

/// Returns the markup around words in an answer without a call: an opener and its closer, each on a line of its own, or around the last lines of
/// the answer, outside fenced code. Whatever its family, such markup has a name that is about a tool, a function or a call.
pub(super) fn call_in_words(text: &str) -> Option<CallMarkup<'_>> {
    let mut fence: Option<&str> = None;
    let mut opened: Option<(&str, bool)> = None;
    let mut lines = text.trim_end().lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        let marks = ["```", "~~~"].into_iter().find(|marks| line.starts_with(marks));
        if let Some(marks) = marks {
            fence = match fence {
                None => Some(marks),
                open => open.filter(|open| *open != marks),
            };
            opened = None;
            continue;
        }
        if fence.is_some() {
            continue;
        }
        let (first, last) = (first_tag(line), last_tag(line));
        if let (Some(closer), Some((opener, is_alone))) = (last, opened)
            && is_pair(opener, closer)
            && (is_last || is_alone && closer.len() == line.len())
            && line.strip_suffix(closer).is_some_and(are_words)
        {
            return Some(CallMarkup { opener, closer });
        }
        if let (Some(opener), Some(closer)) = (first, last)
            && is_last
            && is_pair(opener, closer)
            && let Some(inner) = line.strip_prefix(opener).and_then(|it| it.strip_suffix(closer))
            && !inner.trim().is_empty()
            && are_words(inner)
        {
            return Some(CallMarkup { opener, closer });
        }
        if let Some(opener) = first.filter(|tag| TagName::of(tag).is_some_and(|it| !it.closes)) {
            let is_of_words = line.strip_prefix(opener).is_some_and(are_words);
            opened = is_of_words.then_some((opener, opener.len() == line.len()));
        } else if !are_words(line) {
            opened = None;
        }
    }
    None
}

/// Returns `true` for text that holds neither an object nor a tag, of which calls are made.
fn are_words(text: &str) -> bool {
    !text.contains(['{', '<'])
}

/// Returns the tag at the start of a line.
fn first_tag(line: &str) -> Option<&str> {
    let end = if line.starts_with('<') {
        line.find('>')
    } else if line.starts_with('[') {
        line.find(']')
    } else {
        None
    };
    line.get(..=end?)
}

/// Returns the tag at the end of a line.
fn last_tag(line: &str) -> Option<&str> {
    let start = if line.ends_with('>') {
        line.rfind('<')
    } else if line.ends_with(']') {
        line.rfind('[')
    } else {
        None
    };
    line.get(start?..)
}

fn is_pair(opener: &str, closer: &str) -> bool {
    let (Some(opener), Some(closer)) = (TagName::of(opener), TagName::of(closer)) else {
        return false;
    };
    !opener.closes && closer.closes && opener.name == closer.name
}

/// The name of a tag that is about a call.
struct TagName {
    /// In lower case, without the words that say whether it opens or closes.
    name: String,
    closes: bool,
}

impl TagName {
    /// Maximum length of the name of a tag, in bytes.
    const MAX_BYTES: usize = 64;

    fn of(tag: &str) -> Option<Self> {
        let inner = tag.trim_matches(['<', '>', '[', ']', '|', '｜']);
        if inner.is_empty() || inner.len() > Self::MAX_BYTES || inner.contains(char::is_whitespace)
        {
            return None;
        }
        let has_slash = inner.starts_with('/');
        let name = inner.trim_start_matches('/').to_lowercase();
        let words: Vec<_> = name.split(['_', '-', ':', '▁', '|']).collect();
        let closes = has_slash || words.contains(&"end");
        let about = ["tool", "tools", "toolcall", "toolcalls", "function", "functions", "invoke"];
        let is_about = words.iter().any(|word| about.contains(word));
        let mut words = words;
        words.retain(|word| !["begin", "start", "end"].contains(word));
        is_about.then(|| Self { name: words.join("_"), closes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-36a
    #[test]
    fn words_in_the_markup_of_a_call_are_found_in_every_family() {
        let tags = [
            ("<tool>", "</tool>"),
            ("<tool_call>", "</tool_call>"),
            ("<function_call>", "</function_call>"),
            ("<invoke>", "</invoke>"),
            ("<seed:tool_call>", "</seed:tool_call>"),
            ("<|tool_call|>", "<|/tool_call|>"),
            ("<|tool_call_begin|>", "<|tool_call_end|>"),
            ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
            ("<start_function_call>", "<end_function_call>"),
            ("<TOOLCALL>", "</TOOLCALL>"),
            ("[TOOL_CALLS]", "[/TOOL_CALLS]"),
        ];
        for (opener, closer) in tags {
            let want = Some(CallMarkup { opener, closer });
            for text in [
                format!("{opener}list the notes{closer}"),
                format!("I look.\n{opener}list the notes{closer}\n\n"),
                format!("{opener}\nlist\nthe notes\n{closer}\nI wait."),
                format!("I look.\n\n  {opener}list\nthe notes{closer}"),
                format!("```\ncode\n```\n{opener}\nlist\n{closer}"),
            ] {
                assert_eq!(call_in_words(&text), want, "{text}");
            }
            for text in [
                format!("```xml\n{opener}\nlist\n{closer}\n```"),
                format!("~~~\n{opener}list{closer}\n~~~"),
                format!("Write `{opener}list{closer}`"),
                format!("Write {opener}list{closer} here."),
                format!("{opener}list{closer} is how it is written."),
                format!("{opener}\nlist"),
                format!("list\n{closer}"),
                format!("{opener}{closer}"),
                format!("{opener}{{\"name\": \"list\"}}{closer}"),
                format!("{opener}\n{{\"name\": \"list\"}}\n{closer}"),
                format!("{opener}\n<name>list</name>\n{closer}"),
                format!("{closer}\nlist\n{opener}"),
            ] {
                assert_eq!(call_in_words(&text), None, "{text}");
            }
        }
        for text in [
            "<p>tool</p>",
            "<b>\nfunction\n</b>",
            "[1]",
            "<a tool>x</a tool>",
            "<>",
            "[]",
            "",
            "<tool>x</function>",
        ] {
            assert_eq!(call_in_words(text), None, "{text}");
        }
    }
}
