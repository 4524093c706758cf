//! Matching of ids against the name patterns of the table, and recognition of the vendor's own spelling.

use forgeline_parser::private::locate;

/// The folders before a name for which the vendor's own prices apply: none, the vendor's folder in
/// its API, and the vendors' folders at routers that pass on the price of closed models.
const AT_THE_VENDORS_PRICE: [&str; 7] =
    ["", "models/", "publishers/google/models/", "anthropic/", "openai/", "google/", "x-ai/"];

/// Words after a name that do not change which model it is.
const IDLE_WORDS: [&str; 4] = ["latest", "preview", "beta", "default"];

/// The numbers of digits in the parts of dates and revisions: `20250929`, `2025-08-07`, `03-2025`, `04-17`, `0905`,
/// `001`. One or two digits alone are part of the version.
const DATES: [&[usize]; 6] = [&[8], &[4, 2, 2], &[2, 4], &[2, 2], &[4], &[3]];

/// The way in which an id spells a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameSpelling {
    /// The vendor's own spelling; its prices apply.
    Vendors,
    /// The spelling of another vendor that serves the model.
    Other,
}

/// Returns the way in which `id`, in lower case, names the model of `pattern`, if it does; `name` is the part of the id to
/// check, after the folders in `folders`.
pub(super) fn spelling(pattern: &str, folders: &str, name: &str) -> Option<NameSpelling> {
    let (pattern, is_open) = match pattern.strip_suffix('*') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let (before, after) = locate(pattern, name)?;
    let is_plain = is_packaging(after);
    let fits = if is_open {
        !goes_on(pattern, after)
    } else {
        is_plain && (before.is_empty() || before.ends_with(['.', ':'])) && !before.ends_with("ft:")
    };
    let is_vendors = is_plain && before.is_empty() && AT_THE_VENDORS_PRICE.contains(&folders);
    fits.then_some(if is_vendors { NameSpelling::Vendors } else { NameSpelling::Other })
}

/// Returns `true` if the text after the pattern makes it another name: a letter (GLM-4.5V), or the next part of
/// a version (Kimi K2-8).
fn goes_on(pattern: &str, after: &str) -> bool {
    let Some(first) = after.chars().next() else { return false };
    let word = words(after).next().unwrap_or_default();
    let is_version = pattern.ends_with(|letter: char| letter.is_ascii_digit())
        && word.len() <= 2
        && is_number(word);
    first.is_alphanumeric() || is_version && !begins_with_date(&lengths(after))
}

/// Returns `true` if `after` consists only of a date, a packaging version or idle words.
fn is_packaging(after: &str) -> bool {
    if after.starts_with(char::is_alphanumeric) {
        return false;
    }
    let after = without_revision(after);
    let mut lengths = lengths(after);
    let rest: Vec<_> = words(after).filter(|word| !is_number(word)).collect();
    if !rest.iter().all(|word| IDLE_WORDS.contains(word)) {
        return false;
    }
    lengths.retain(|length| *length > 0);
    lengths.is_empty() || DATES.contains(&lengths.as_slice())
}

/// Removes the revision with which a cloud ends its ids: `-v1:0`.
fn without_revision(after: &str) -> &str {
    let Some((before, revision)) = after.rsplit_once("-v") else { return after };
    match revision.split_once(':') {
        Some((major, minor)) if is_number(major) && is_number(minor) => before,
        _ => after,
    }
}

/// Returns the length of each number in `text`, and 0 for each other word.
fn lengths(text: &str) -> Vec<usize> {
    words(text).map(|word| if is_number(word) { word.len() } else { 0 }).collect()
}

fn begins_with_date(lengths: &[usize]) -> bool {
    DATES.iter().any(|date| lengths.starts_with(date))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
