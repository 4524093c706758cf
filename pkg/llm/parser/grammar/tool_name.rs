//! The offered tool that a name means.

/// Words that models write before a name, with a separator.
const WRAPPERS: [&str; 6] = ["functions", "function", "default_api", "tools", "tool", "call"];

/// Returns the name among `known` that `name` is, or else the only one that it means: behind a word such as `functions.`,
/// before the number of the call, or with other separators.
pub(super) fn meant<'t>(
    name: &str,
    known: impl Iterator<Item = &'t str> + Clone,
) -> Option<&'t str> {
    let exact = known.clone().find(|known| *known == name);
    let mut fitting = known.filter(|known| fits(name, known));
    exact.or_else(|| fitting.next().filter(|_| fitting.next().is_none()))
}

fn fits(name: &str, known: &str) -> bool {
    let unwrapped =
        WRAPPERS.iter().filter_map(|word| name.strip_prefix(word)?.strip_prefix(is_separator));
    unwrapped.chain([name]).any(|name| {
        let number = name.rsplit_once(is_separator);
        let is_number = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
        let unnumbered = number.filter(|(_, number)| !number.is_empty() && is_number(number));
        is_same(name, known) || unnumbered.is_some_and(|(name, _)| is_same(name, known))
    })
}

/// Compares names, for which all separators are the same.
fn is_same(name: &str, known: &str) -> bool {
    let mut letters = name.chars().zip(known.chars());
    name.len() == known.len()
        && letters.all(|(a, b)| a == b || (is_separator(a) && is_separator(b)))
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '.' | ':' | '/' | '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_name_means_the_only_offered_tool_that_fits_it() {
        #[rustfmt::skip]
        let rows = [
            ("exact",                      "run",                  &["run", "functions.run"][..], Some("run")),
            ("a word before it",           "functions.run",        &["run", "stop"],        Some("run")),
            ("the same with an underscore", "default_api_run",     &["run"],                Some("run")),
            ("the word of another syntax", "call:run",             &["run"],                Some("run")),
            ("a number after it",          "functions_Run_2",      &["Run", "Stop"],        Some("Run")),
            ("a name that has a number",   "functions.level_2:4",  &["level_2"],            Some("level_2")),
            ("two that fit",               "functions_level_2",    &["level", "level_2"],   None),
            ("points for underscores",     "lights.turn.on",       &["lights_turn_on"],     Some("lights_turn_on")),
            ("two spellings",              "a.b",                  &["a_b", "a-b"],         None),
            ("another name",               "walk",                 &["run"],                None),
            ("another case",               "Run",                  &["run"],                None),
            ("a longer name",              "functions.rerun",      &["run"],                None),
            ("only a word",                "functions.",           &["run"],                None),
            ("nothing is offered",         "functions.run",        &[],                     None),
        ];
        for (case, name, known, want) in rows {
            assert_eq!(meant(name, known.iter().copied()), want, "{case}");
        }
    }
}
