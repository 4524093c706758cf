//! JSON Schema as it is read: references, unions, types.

mod literal;
mod types;
mod view;

pub use types::JsonTypes;
pub use view::SchemaView;
