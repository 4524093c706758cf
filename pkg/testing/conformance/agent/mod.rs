//! Checks for the parts that an application gives to an agent: who decides about calls at the client, about
//! callers, and about requests for approval, and where memories are kept.
//!
//! Each pack takes an implementation and what it should say yes and no to, checks it alone and then inside an agent,
//! and returns a [`Report`](super::Report). No model is asked, and no time passes.
//!
//! # Examples
//!
//! In a test:
//!
//! ```
//! use forgeline::{
//!     agent::{AllowList, ClientCall},
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
