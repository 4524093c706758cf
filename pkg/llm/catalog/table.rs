//! The table of models.

use std::{
    collections::VecDeque,
    sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::{
    KnownCapabilities, LongPrices, ModelCard, Prices,
    name::{NameSpelling, spelling},
};
#[cfg(any(feature = "http", test))]
use forgeline_types::Capabilities;

/// Maximum length of a part of an id that is checked, in bytes; names of models are far shorter.
const MAX_NAME_BYTES: usize = 512;

/// Maximum number of parts of an id that are checked, from its end.
const MAX_NAMES: usize = 8;

/// Maximum number of ids whose cards are cached: a process asks for a few models, at each run of an agent.
pub(super) const MAX_REMEMBERED: usize = 8;

/// The ids looked up last, with their cards.
type RecentModels = VecDeque<(Box<str>, Option<&'static ModelCard>)>;

static REMEMBERED: Mutex<RecentModels> = Mutex::new(VecDeque::new());

pub(super) fn remembered() -> MutexGuard<'static, RecentModels> {
    REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The patterns of all lines: most processes look up one or two models, and need no more of the other lines.
static LINES: LazyLock<Vec<TableLine>> = LazyLock::new(|| {
    let mut all = Vec::with_capacity(lines().count());
    all.extend(lines().map(TableLine::new));
    all
});

static ROWS: LazyLock<Vec<&TableRow>> =
    LazyLock::new(|| LINES.iter().filter_map(TableLine::row).collect());

/// One line of the table, parsed when its model is looked up.
#[derive(Debug)]
pub(super) struct TableLine {
    pub(super) pattern: &'static str,
    text: &'static str,
    row: OnceLock<Option<TableRow>>,
}

impl TableLine {
    fn new(text: &'static str) -> Self {
        let pattern = text.split_ascii_whitespace().next().unwrap_or_default();
        Self { pattern, text, row: OnceLock::new() }
    }

    fn row(&self) -> Option<&TableRow> {
        self.row.get_or_init(|| row(self.text)).as_ref()
    }
}

/// One parsed line of the table.
#[derive(Debug)]
pub(super) struct TableRow {
    card: ModelCard,
    /// The card if another vendor serves the model, at unknown prices.
    elsewhere: ModelCard,
}

#[cfg(test)]
impl TableRow {
    pub(super) fn into_card(self) -> ModelCard {
        self.card
    }
}

/// Returns every line, the most specific first.
pub(super) fn rows() -> &'static [TableLine] {
    &LINES
}

impl ModelCard {
    /// Returns the card of the model with this id; `None` for an unknown model.
    ///
    /// Ids are recognized as vendors, clouds and routers spell them: with dates and versions after the name, and
    /// with folders and regions before it. A newer or different model of the same family is unknown, because
    /// its prices and capabilities may differ.
    #[must_use]
    pub fn for_model(id: &str) -> Option<&'static Self> {
        if let Some((_, card)) = remembered().iter().find(|(known, _)| **known == *id) {
            return *card;
        }
        let card = find(id);
        if id.len() <= MAX_NAME_BYTES {
            let mut remembered = remembered();
            remembered.truncate(MAX_REMEMBERED - 1);
            remembered.push_front((id.into(), card));
        }
        card
    }

    /// Returns every card, the most specific names first.
    #[must_use]
    pub fn all() -> impl ExactSizeIterator<Item = &'static Self> {
        ROWS.iter().map(|row| &row.card)
    }
}

/// Returns the capabilities of a model over a protocol: those of the protocol, less what the model is
/// known to lack.
#[cfg(any(feature = "http", test))]
pub(crate) fn narrowed(protocol: Capabilities, model: &str) -> Capabilities {
    ModelCard::for_model(model).map_or(protocol, |card| card.capabilities.narrow(protocol))
}

/// Returns the lines, without comments and empty lines.
pub(super) fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("models.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn row(line: &'static str) -> Option<TableRow> {
    let mut fields = line.split_ascii_whitespace();
    let mut field = || fields.next();
    let (pattern, vendor) = (field()?, field()?);
    let (context_tokens, max_output_tokens) = (tokens(field()?)?, tokens(field()?)?);
    let capabilities = KnownCapabilities::parse(field()?)?;
    let prices = match field()? {
        "-" => None,
        prices => Some(Prices::parse(prices)?),
    };
    let seen = field()?;
    let long_prices = match (field(), prices) {
        (None, _) => None,
        (Some(long), Some(_)) => Some(LongPrices::parse(long)?),
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
    fields.next().is_none().then_some(TableRow { card, elsewhere })
}

/// Parses a number of tokens, or `-` for an unknown one.
#[expect(clippy::option_option, reason = "what cannot be read is not what is not known")]
fn tokens(text: &str) -> Option<Option<u64>> {
    match text {
        "-" => Some(None),
        count => count.parse().ok().map(Some),
    }
}

/// Returns the card of a model.
///
/// Ids are paths: the last part names the model, or else a folder above it does.
pub(super) fn find(id: &str) -> Option<&'static ModelCard> {
    let (line, spelling) = find_row(id)?;
    let row = line.row()?;
    Some(match spelling {
        NameSpelling::Vendors => &row.card,
        NameSpelling::Other => &row.elsewhere,
    })
}

pub(super) fn find_row(id: &str) -> Option<(&'static TableLine, NameSpelling)> {
    let id = id.trim().to_ascii_lowercase();
    let mut rest = id.as_str();
    for _ in 0..MAX_NAMES {
        let name = rest.rsplit(['/', '\\']).next().unwrap_or_default();
        let folders = rest.strip_suffix(name).unwrap_or_default();
        if name.len() <= MAX_NAME_BYTES {
            let mut found = rows().iter().map(|line| (line, spelling(line.pattern, folders, name)));
            let found = found.find_map(|(line, spelling)| Some((line, spelling?)));
            // A path below the folder that names the model is a derived model.
            if let Some((line, spelling)) = found {
                let is_last = rest.len() == id.len();
                return Some((line, if is_last { spelling } else { NameSpelling::Other }));
            }
        }
        rest = folders.trim_end_matches(['/', '\\']);
        if rest.is_empty() {
            return None;
        }
    }
    None
}
