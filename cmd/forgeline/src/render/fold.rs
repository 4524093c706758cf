//! Long texts cut to a few lines.

/// Longest line that is shown, in characters.
const MAX_LINE_CHARS: usize = 160;

/// Returns the first `max_lines` lines of `text`, long lines cut, and the number of lines left out.
pub(super) fn fold(text: &str, max_lines: usize) -> (Vec<String>, usize) {
    let text = text.trim_end();
    let shown = text.lines().take(max_lines).map(cut_line).collect();
    (shown, text.lines().count().saturating_sub(max_lines))
}

fn cut_line(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => {
            let (head, tail) = line.split_at(at);
            format!("{head}… (+{} characters)", tail.chars().count())
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_lines_are_shown_and_the_rest_is_counted() {
        let long = "é".repeat(MAX_LINE_CHARS + 2);
        let cut = format!("{}… (+2 characters)", "é".repeat(MAX_LINE_CHARS));
        #[rustfmt::skip]
        let cases = [
            ("short",      "one\ntwo\n",      vec!["one".to_owned(), "two".to_owned()], 0),
            ("long",       "1\n2\n3\n4\n5",   vec!["1".to_owned(), "2".to_owned()],     3),
            ("empty",      "",                vec![],                                   0),
            ("wide line",  long.as_str(),     vec![cut],                                0),
        ];
        for (name, text, lines, hidden) in cases {
            let max = if name == "long" { 2 } else { 4 };
            assert_eq!(fold(text, max), (lines, hidden), "{name}");
        }
    }
}
