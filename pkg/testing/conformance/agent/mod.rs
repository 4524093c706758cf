//! Checks for the components that an application gives to an agent: those that decide about client calls, about
//! callers and about requests for approval, and those that store memories.
//!
//! Each function takes an implementation with examples that it should allow and deny, checks it by itself and then inside
//! an agent, and returns a [`Report`](super::Report). No model is called, and no real time passes.
//!
//! # Examples
//!
//! In a test:
//!
//! ```
//! use forgeline::{
//!     agent::access::{AllowList, ClientCall},
//!     testing::conformance::agent::check_authorizer,
//! };
//!
//! let list = AllowList::of(["page.read"]);
//! let allowed = ClientCall::new("page.read", "{}");
//! let report = check_authorizer(list, &allowed, &ClientCall::new("page.write", "{}"));
//! assert!(report.is_conforming(), "{report}");
//! ```

mod approver;
mod authorizer;
mod memories;
mod modules;
mod permissions;
mod stage;
#[cfg(test)]
mod tests;

pub use self::{
    approver::{AskedCall, check_approver},
    authorizer::check_authorizer,
    memories::check_memory_store,
    modules::check_module_permissions,
    permissions::check_permissions,
};
