//! Titles of conversations.

use forgeline_types::Text;

/// Maximum length of a title made from a message, in characters.
pub(crate) const MAX_TITLE: usize = 60;

/// Returns the title of a conversation that begins with this text: its first 60 characters, and `…` if there are more.
pub(crate) fn title(said: &str) -> Option<Text> {
    let said: String =
        said.chars().filter(|sign| sign.is_whitespace() || is_plain(*sign)).collect();
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut title: String = words.chars().take(MAX_TITLE).collect();
    if title.len() < words.len() {
        title.push('…');
    }
    (!title.is_empty()).then(|| title.into())
}

/// Returns `false` for characters that a title cannot contain: control characters, line ends, and marks that change the text direction.
pub(crate) fn is_plain(sign: char) -> bool {
    let is_turning = matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_line_end = matches!(sign, '\u{2028}' | '\u{2029}');
    !(sign.is_control() || is_turning || is_line_end || sign == '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_no_signs_that_a_new_one_may_not_have() {
        let made = |said: &str| title(said).map(Text::into_string);
        assert_eq!(
            made("Pay\0 \u{202e}gpj.exe\u{202c}\n now\u{1b}[31m"),
            Some("Pay gpj.exe now[31m".to_owned())
        );
        assert_eq!(made("\u{202e}\0"), None);
        let long = made(&"a".repeat(100)).unwrap();
        assert!(long.ends_with('…') && long.chars().count() == MAX_TITLE + 1);
        assert!(long.chars().all(is_plain));
    }
}
