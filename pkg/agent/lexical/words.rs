//! The words of a text.

/// Calls `take` with each word of `text`, in lower case: a run of letters and digits or, in scripts
/// without spaces, each letter and each pair of neighbouring letters.
pub(super) fn each(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    let mut unspaced = None;
    for character in text.chars() {
        if is_unspaced(character) {
            flush(&mut word, &mut take);
            word.push(character);
            take(&word);
            word.clear();
            if let Some(before) = unspaced.replace(character) {
                word.extend([before, character]);
                flush(&mut word, &mut take);
            }
            continue;
        }
        unspaced = None;
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase().map(folded));
        } else {
            flush(&mut word, &mut take);
        }
    }
    flush(&mut word, &mut take);
}

/// Returns `true` when `text` contains a word.
pub(crate) fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn flush(word: &mut String, take: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        take(word);
        word.clear();
    }
}

/// Returns the sigma used inside words for the one used at their end: capitals do not distinguish them.
fn folded(letter: char) -> char {
    if letter == 'ς' { 'σ' } else { letter }
}

/// Returns `true` for letters of scripts that put no spaces between words.
fn is_unspaced(letter: char) -> bool {
    let is_of_script = matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    );
    is_of_script && letter.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn words_are_runs_of_letters_and_digits_or_neighbours() {
        #[rustfmt::skip]
        let cases: [(&str, &[&str]); 8] = [
            ("",                      &[]),
            (" ,.!\n",                &[]),
            ("The HTTP/2 server's",   &["the", "http", "2", "server", "s"]),
            ("ΟΔΟΣ οδός",             &["οδοσ", "οδόσ"]),
            ("Straße, ÉTÉ",           &["straße", "été"]),
            ("新しい橋",               &["新", "し", "新し", "い", "しい", "橋", "い橋"]),
            ("橋。川",                 &["橋", "川"]),
            ("Rust言語 x",            &["rust", "言", "語", "言語", "x"]),
        ];
        for (text, want) in cases {
            let mut words = Vec::new();
            each(text, |word| words.push(word.to_owned()));
            assert_eq!(words, want, "{text}");
        }
    }
}
