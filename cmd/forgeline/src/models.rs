//! `forgeline models`: what the provider offers.

use std::io::{self, Write};

use clap::Args;
use forgeline::llm::{ListedModel, ModelCard, Prices};
use serde::Serialize;

use crate::{
    environment::Environment,
    exit::{Exit, note},
    hint,
    output::{json_line, stdout},
    probe::find_local_server,
    provider_choice::{ProviderArgs, choose},
    render::escape_controls,
    vendors,
};

/// `forgeline models`
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Who is asked
    #[command(flatten)]
    provider: ProviderArgs,
    /// Print one JSON object per model
    #[arg(long)]
    json: bool,
}

/// Lists the models of the provider.
///
/// # Errors
///
/// Wrong flags, and failing writes. A server without a list is reported, with exit code 1.
pub fn list(args: &ModelsArgs) -> anyhow::Result<Exit> {
    let environment = Environment::default();
    let only = args.provider.model.as_deref();
    let provider = ProviderArgs { model: None, any_model: true, ..args.provider.clone() };
    let choice = choose(&provider, |name| environment.get(name), find_local_server);
    environment.check()?;
    let choice = choice?;
    note(&escape_controls(&choice.to_string()));
    if let Some(warning) = choice.warning() {
        note(&escape_controls(&warning));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listed = match runtime.block_on(vendors::models(&choice))? {
        Ok(listed) => listed,
        Err(error) => {
            hint::tell(&error.to_agent_error());
            return Ok(Exit::Failed);
        }
    };
    let wanted = |model: &&ListedModel| only.is_none_or(|only| model.id.contains(only));
    let rows: Vec<_> = listed.iter().filter(wanted).map(ModelRow::new).collect();
    let mut out = stdout(args.json);
    if args.json {
        for row in &rows {
            json_line(&mut out, row)?;
        }
    } else {
        show(&mut out, &rows)?;
    }
    out.flush()?;
    if rows.is_empty() {
        note("no models found; --model ID lists models with ID in their name");
    }
    Ok(Exit::Done)
}

/// One model of the list. What is not known is null.
#[derive(Debug, Serialize)]
struct ModelRow {
    id: String,
    /// Tokens that prompt and answer may have together.
    context_tokens: Option<u64>,
    /// Tokens that one answer may have.
    max_output_tokens: Option<u64>,
    /// US dollars for a million tokens, at the vendor's list prices.
    prices: Option<DollarPrices>,
    /// The day on which the prices were published so.
    seen: Option<&'static str>,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Serialize)]
struct DollarPrices {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl From<Prices> for DollarPrices {
    fn from(prices: Prices) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "prices are far below 2^52 millionths")]
        let dollars = |micro: u64| micro as f64 / 1e6;
        Self {
            input: dollars(prices.input),
            output: dollars(prices.output),
            cache_read: prices.cache_read.map(dollars),
            cache_write: prices.cache_write.map(dollars),
        }
    }
}

impl ModelRow {
    /// Says what the server says, and else what the catalogue knows.
    fn new(model: &ListedModel) -> Self {
        let card = ModelCard::for_model(&model.id);
        let of_card = |fact: fn(&ModelCard) -> Option<u64>| fact(card.as_ref()?);
        let prices = card.as_ref().and_then(|card| card.prices);
        Self {
            id: model.id.to_string(),
            context_tokens: model.context_tokens.or_else(|| of_card(|card| card.context_tokens)),
            max_output_tokens: model
                .max_output_tokens
                .or_else(|| of_card(|card| card.max_output_tokens)),
            prices: prices.map(DollarPrices::from),
            seen: prices.and(card.as_ref()).map(|card| card.seen),
        }
    }
}

fn show(out: &mut impl Write, rows: &[ModelRow]) -> io::Result<()> {
    let tokens = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), thousands);
    let price = |row: &ModelRow| match row.prices {
        Some(prices) => format!("${} in, ${} out", prices.input, prices.output),
        None => "-".to_owned(),
    };
    let title = ["MODEL", "WINDOW", "ANSWER", "LIST PRICE PER MILLION TOKENS"].map(str::to_owned);
    let mut table = vec![title];
    table.extend(rows.iter().map(|row| {
        let id = escape_controls(&row.id).replace('\n', " ");
        [id, tokens(row.context_tokens), tokens(row.max_output_tokens), price(row)]
    }));
    let width = |column: usize| {
        let cells = table.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let (id, window, answer) = (width(0), width(1), width(2));
    if rows.is_empty() {
        return Ok(());
    }
    for [name, most, longest, price] in &table {
        writeln!(out, "{name:<id$}  {most:>window$}  {longest:>answer$}  {price}")?;
    }
    Ok(())
}

/// Returns a number with a comma between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_beats_what_is_known_and_the_rest_is_a_dash() {
        let rows: Vec<_> = [
            ListedModel::new("gpt-4o"),
            ListedModel::new("gpt-4o").context_tokens(8192),
            ListedModel::new("my \u{1b}[31mown"),
        ]
        .iter()
        .map(ModelRow::new)
        .collect();
        let mut out = Vec::new();
        show(&mut out, &rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        let want = "\
MODEL            WINDOW  ANSWER  LIST PRICE PER MILLION TOKENS
gpt-4o          128,000  16,384  $2.5 in, $10 out
gpt-4o            8,192  16,384  $2.5 in, $10 out
my \\x1b[31mown        -       -  -
";
        assert_eq!(text, want);
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
