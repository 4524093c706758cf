//! The parts of a sentence that the demo model can act on.

/// Returns the words of `text` in lower case, without the punctuation around them.
pub(super) fn words(text: &str) -> Vec<String> {
    let words = text.split_whitespace().map(|word| {
        word.trim_matches(|char: char| !char.is_alphanumeric() && !"_-./".contains(char))
            .trim_end_matches('.')
            .to_lowercase()
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the arithmetic in a sentence: its longest run of numbers and operators that contains both.
pub(super) fn arithmetic(text: &str) -> Option<String> {
    let mut text = format!(" {} ", text.to_lowercase());
    let spoken = [
        (" plus ", " + "),
        (" minus ", " - "),
        (" times ", " * "),
        (" multiplied by ", " * "),
        (" divided by ", " / "),
        (" over ", " / "),
        (" modulo ", " % "),
        (" to the power of ", " ^ "),
    ];
    for (word, operator) in spoken {
        text = text.replace(word, operator);
    }
    text = text.replace(['×', '·'], "*").replace('÷', "/").replace('−', "-");
    let runs = text.split(|char: char| !char.is_ascii_digit() && !"+-*/%^(). ".contains(char));
    let runs = runs.map(trim_run).filter(|run| is_arithmetic(run));
    // The first of several runs of the same length.
    runs.rev().max_by_key(|run| run.len()).map(str::to_owned)
}

/// Removes punctuation from the ends of a run.
fn trim_run(run: &str) -> &str {
    let run = run.trim_matches(|char: char| " .+*/%^".contains(char));
    run.trim_end_matches(['-', '(', ' ']).trim_start_matches([')', ' '])
}

/// Returns `true` if a run has an operator between two numbers.
fn is_arithmetic(run: &str) -> bool {
    let digits = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit());
    run.char_indices().any(|(at, char)| {
        let (before, after) = run.split_at(at);
        "+-*/%^".contains(char) && digits(before) && digits(after)
    })
}

/// Returns the first quoted text: in double quotes, in single quotes at word boundaries, or in backticks.
pub(super) fn quoted(text: &str) -> Option<&str> {
    ['"', '`', '\''].into_iter().find_map(|quote| {
        let (before, rest) = text.split_once(quote)?;
        let opens = before.chars().next_back().is_none_or(char::is_whitespace);
        let (inside, _) = rest.split_once(quote)?;
        (opens && !inside.is_empty()).then_some(inside)
    })
}

/// Returns the first word that looks like a file path.
pub(super) fn path(text: &str) -> Option<String> {
    let words = text.split_whitespace().map(|word| {
        word.trim_matches(|char: char| !char.is_alphanumeric() && !"_-./".contains(char))
            .trim_end_matches('.')
    });
    let mut paths = words.filter(|word| {
        let extension = word.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty()
                && (1..=5).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        let named = extension || ["Makefile", "LICENSE", "Dockerfile"].contains(word);
        named && word.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    paths.next().map(str::to_owned)
}

/// Returns the text after the first of `starts`, up to one of `ends` or a punctuation mark.
pub(super) fn between(text: &str, starts: &[&str], ends: &[&str]) -> Option<String> {
    let lower = text.to_lowercase();
    let (_, rest) = starts.iter().find_map(|start| lower.split_once(start))?;
    if let Some(inside) = quoted(rest) {
        return Some(inside.to_owned());
    }
    let ends = ends.iter().filter_map(|end| rest.find(end));
    let marks = rest.find([',', '?', '!', ';', '\n']).into_iter();
    let end = ends.chain(marks).min().unwrap_or(rest.len());
    let (found, _) = rest.split_at(end);
    let found = found.trim().trim_end_matches('.').trim();
    let found = ["the word ", "the text ", "for ", "the "]
        .into_iter()
        .fold(found, |found, article| found.strip_prefix(article).unwrap_or(found));
    (!found.is_empty()).then(|| found.to_owned())
}

/// Returns the numbers in a text, in order.
pub(super) fn numbers(text: &str) -> Vec<f64> {
    words(text)
        .iter()
        .filter_map(|word| word.parse().ok())
        .filter(|n: &f64| n.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_found_in_sentences() {
        #[rustfmt::skip]
        let cases = [
            ("What is 6 * 7?",                         Some("6 * 7")),
            ("what's (1 + 2.5) * 3 - 4?",              Some("(1 + 2.5) * 3 - 4")),
            ("17 times 23, please.",                   Some("17 * 23")),
            ("Is 10 divided by 4 more than 2?",        Some("10 / 4")),
            ("Compute -3 + 5.",                        Some("-3 + 5")),
            ("In 2026 - a good year - it rained",      None),
            ("no numbers + here",                      None),
            ("chapter 3",                              None),
        ];
        for (text, want) in cases {
            assert_eq!(arithmetic(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn names_and_topics_are_found_in_sentences() {
        assert_eq!(path("Read docs/README.md, please.").as_deref(), Some("docs/README.md"));
        assert_eq!(path("What is in Cargo.toml?").as_deref(), Some("Cargo.toml"));
        assert_eq!(path("It costs 3.50 today."), None);
        assert_eq!(path("That is all."), None);
        let most = |text| between(text, &["mentions ", "mention "], &[" most", " the most"]);
        assert_eq!(
            most("Which file mentions streaming most, and why?").as_deref(),
            Some("streaming")
        );
        assert_eq!(most("Which file mentions 'a b' the most?").as_deref(), Some("a b"));
        assert_eq!(quoted("find \"x y\" here"), Some("x y"));
        assert_eq!(quoted("don't do that, it's bad"), None);
        assert_eq!(numbers("Add 17 and 2.5!"), [17.0, 2.5]);
    }
}
