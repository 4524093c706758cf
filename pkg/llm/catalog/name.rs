//! Does an id name the model of a line, and is it the vendor's own spelling?

use crate::llm::parser::locate;

/// The folders in front of a name where the vendor's own prices hold: nothing, the vendor's folder of
/// its API, and the vendors' folders at routers that pass the price of closed models on.
const AT_THE_VENDORS_PRICE: [&str; 7] =
    ["", "models/", "publishers/google/models/", "anthropic/", "openai/", "google/", "x-ai/"];

/// Words behind a name that say nothing about which model it is.
const IDLE_WORDS: [&str; 4] = ["latest", "preview", "beta", "default"];

/// Digits of the parts of dates and revisions: `20250929`, `2025-08-07`, `03-2025`, `04-17`, `0905`,
/// `001`. One or two digits alone are the next version of the name.
const DATES: [&[usize]; 6] = [&[8], &[4, 2, 2], &[2, 4], &[2, 2], &[4], &[3]];

/// The spelling of a name in an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As the vendor spells it, whose prices hold.
    Vendors,
    /// Another vendor serves the model.
    Other,
}

/// Returns how `id`, in lower case, names the model of `pattern`; `name` is the part of the id to
/// look at, after the folders in `folders`.
pub(super) fn spelling(pattern: &str, folders: &str, name: &str) -> Option<Spelling> {
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
    fits.then_some(if is_vendors { Spelling::Vendors } else { Spelling::Other })
}

/// Returns `true` if what follows makes another name of it: a letter (GLM-4.5V), or the next part of
/// a version (Kimi K2-8).
fn goes_on(pattern: &str, after: &str) -> bool {
    let Some(first) = after.chars().next() else { return false };
    let word = words(after).next().unwrap_or_default();
    let is_version = pattern.ends_with(|letter: char| letter.is_ascii_digit())
        && word.len() <= 2
        && is_number(word);
    first.is_alphanumeric() || is_version && !begins_with_date(&lengths(after))
}

/// Returns `true` if `after` is nothing but a date, a version of the packaging, or idle words.
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

/// Removes the revision by which a cloud ends its ids: `-v1:0`.
fn without_revision(after: &str) -> &str {
    let Some((before, revision)) = after.rsplit_once("-v") else { return after };
    match revision.split_once(':') {
        Some((major, minor)) if is_number(major) && is_number(minor) => before,
        _ => after,
    }
}

/// Returns the lengths of the numbers in `text`, and 0 for each other word.
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
