//! The table of models.

use std::sync::LazyLock;

use super::{
    KnownCapabilities, LongPrices, ModelCard, Prices,
    name::{Spelling, spelling},
};

/// Longest part of an id that is looked at, in bytes; names of models are far shorter.
const MAX_NAME_BYTES: usize = 512;

/// Parts of an id that are looked at, from its end.
const MAX_NAMES: usize = 8;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| lines().filter_map(row).collect());

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) pattern: &'static str,
    card: ModelCard,
    /// The card where somebody else serves the model: what that costs is not known.
    elsewhere: ModelCard,
}

#[cfg(test)]
impl Row {
    pub(super) fn into_card(self) -> ModelCard {
        self.card
    }
}

/// Every line, the most specific first.
pub(super) fn rows() -> &'static [Row] {
    &ROWS
}

pub(super) fn cards() -> impl ExactSizeIterator<Item = &'static ModelCard> {
    rows().iter().map(|row| &row.card)
}

/// The lines without comments and blank ones.
pub(super) fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("models.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn row(line: &'static str) -> Option<Row> {
    let mut fields = line.split_ascii_whitespace();
    let mut field = || fields.next();
    let (pattern, vendor) = (field()?, field()?);
    let (context_tokens, max_output_tokens) = (tokens(field()?)?, tokens(field()?)?);
    let capabilities = KnownCapabilities::read(field()?)?;
    let prices = match field()? {
        "-" => None,
        prices => Some(Prices::read(prices)?),
    };
    let seen = field()?;
    let long_prices = match (field(), prices) {
        (None, _) => None,
        (Some(long), Some(_)) => Some(LongPrices::read(long)?),
        (Some(_), None) => return None,
    };
    let name = pattern.trim_end_matches('*');
    let card = ModelCard {
        name,
        vendor,
        context_tokens,
        max_output_tokens,
        capabilities,
        prices,
        long_prices,
        seen,
    };
    let elsewhere = ModelCard { prices: None, long_prices: None, ..card.clone() };
    fields.next().is_none().then_some(Row { pattern, card, elsewhere })
}

/// A number of tokens, or `-` for one that is not known.
#[expect(clippy::option_option, reason = "what cannot be read is not what is not known")]
fn tokens(text: &str) -> Option<Option<u64>> {
    match text {
        "-" => Some(None),
        count => count.parse().ok().map(Some),
    }
}

/// The card of a model.
///
/// Ids are paths: the last part names the model, or else a folder above it does.
pub(super) fn find(id: &str) -> Option<&'static ModelCard> {
    let (row, spelling) = find_row(id)?;
    Some(match spelling {
        Spelling::Vendors => &row.card,
        Spelling::Other => &row.elsewhere,
    })
}

pub(super) fn find_row(id: &str) -> Option<(&'static Row, Spelling)> {
    let id = id.trim().to_ascii_lowercase();
    let mut rest = id.as_str();
    for _ in 0..MAX_NAMES {
        let name = rest.rsplit(['/', '\\']).next().unwrap_or_default();
        let folders = rest.strip_suffix(name).unwrap_or_default();
        if name.len() <= MAX_NAME_BYTES {
            let mut found = rows().iter().map(|row| (row, spelling(row.pattern, folders, name)));
            let found = found.find_map(|(row, spelling)| Some((row, spelling?)));
            // Below a folder that names it stands what somebody made of the model.
            if let Some((row, spelling)) = found {
                let is_last = rest.len() == id.len();
                return Some((row, if is_last { spelling } else { Spelling::Other }));
            }
        }
        rest = folders.trim_end_matches(['/', '\\']);
        if rest.is_empty() {
            return None;
        }
    }
    None
}
