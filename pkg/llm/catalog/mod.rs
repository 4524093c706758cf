//! Facts about models by name, from a table in which each fact is dated.

mod capabilities;
mod card;
mod name;
mod price;
mod table;

#[cfg(test)]
mod tests;

pub use capabilities::KnownCapabilities;
pub use card::ModelCard;
pub use price::{Cost, InvalidCost, LongPrices, Prices};
#[cfg(any(feature = "http", test))]
pub(crate) use table::narrowed;
