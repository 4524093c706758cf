//! JSON with comments, as editors write it.

/// Replaces comments, and commas before a closing bracket, by spaces, so that lines and columns stay the same.
pub(crate) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    // The byte offset in `plain` of a comma that nothing but whitespace or comments has followed yet.
    let mut comma = None;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = token(rest);
        let (this, after) = rest.split_at(length);
        rest = after;
        if this.starts_with("//") || this.starts_with("/*") {
            plain.extend(this.chars().map(|it| if it == '\n' { '\n' } else { ' ' }));
            continue;
        }
        match letter {
            ',' => comma = Some(plain.len()),
            ']' | '}' => {
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
            }
            letter if letter.is_whitespace() => {}
            _ => comma = None,
        }
        plain.push_str(this);
    }
    plain
}

/// Returns the length of the comment, the string or the single character at the start.
fn token(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if let Some(inside) = text.strip_prefix("/*") {
        return inside.find("*/").map_or(text.len(), |end| end + 4);
    }
    let mut letters = text.char_indices();
    let first = letters.next().map_or(0, |(_, letter)| letter.len_utf8());
    if !text.starts_with('"') {
        return first;
    }
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return at + 1,
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_and_last_commas_are_spaces_and_strings_stay() {
        let cases = [
            ("{}", "{}"),
            ("{ // a, \"b\n}", "{         \n}"),
            ("[1, /* , ] */ 2,]", "[1,           2 ]"),
            ("{\"a\": \"// , }\\\"/*\",\n}", "{\"a\": \"// , }\\\"/*\" \n}"),
            ("[1, // é\n]", "[1      \n]"),
            ("/* open", "       "),
            ("[,]", "[ ]"),
            ("\"open", "\"open"),
        ];
        for (text, want) in cases {
            assert_eq!(without_comments(text), want, "{text}");
        }
    }
}
