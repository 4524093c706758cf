//! JSON Schema as it is read: references, unions, types.

mod literal;
mod mismatch;
mod pointer;
mod types;
mod view;

pub use mismatch::describe_mismatch;
pub use pointer::locate_mismatch;
pub use types::JsonTypes;
pub use view::SchemaView;
