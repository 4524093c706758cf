//! Shortened outside text for the library's own messages.

use std::borrow::Cow;

/// Returns `text` if it has at most this number of characters, else its start followed by `…`.
pub fn clipped(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, want) in [("", ""), ("abc", "abc"), ("äöü", "äöü"), ("äöüß", "äöü…")]
        {
            assert_eq!(clipped(text, 3), want);
        }
    }
}
