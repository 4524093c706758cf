//! Authorizers, which decide about calls at the client.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde::de::IgnoredAny;

use crate::run::{Caller, RunContext};
use forgeline_types::Text;

/// An object that decides about calls at the client, before anything is sent to it. The decision depends only on the arguments: equal calls get equal
/// decisions, in any order and from any number of threads.
///
/// Without an authorizer, all calls whose arguments fit the tool's schema are allowed. Names that begin with `_` and arguments that are not JSON are
/// denied before an authorizer is asked; one that panics denies.
///
/// A denied call is not sent. The model is informed that it was denied and why, and an [`AuditRecord`](crate::access::AuditRecord) is written.
///
/// # Examples
///
/// Functions are authorizers:
///
/// ```
/// use forgeline::agent::access::{Authorization, Authorizer, ClientCall};
///
/// let only_reads = |call: &ClientCall<'_>| {
///     if call.tool_name.ends_with(".read") {
///         Authorization::Allow
///     } else {
///         Authorization::deny("only reading is allowed here")
///     }
/// };
/// assert_eq!(only_reads.authorize(&ClientCall::new("page.read", "{}")), Authorization::Allow);
/// assert_ne!(only_reads.authorize(&ClientCall::new("page.write", "{}")), Authorization::Allow);
/// ```
pub trait Authorizer: Send + Sync {
    /// Decides about a call.
    fn authorize(&self, call: &ClientCall<'_>) -> Authorization;
}

impl<F: Fn(&ClientCall<'_>) -> Authorization + Send + Sync> Authorizer for F {
    fn authorize(&self, call: &ClientCall<'_>) -> Authorization {
        self(call)
    }
}

/// The decision of an [`Authorizer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// The call is sent to the client.
    Allow,
    /// The call is not sent.
    #[non_exhaustive]
    Deny {
        /// The reason, for the model and the audit; must not be empty.
        reason: String,
    },
}

impl Authorization {
    /// Returns a denial.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }
}

/// A call that is about to be sent to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCall<'a> {
    /// The tool's name, as it was registered.
    pub tool_name: &'a str,
    /// The arguments, as JSON.
    pub arguments: &'a str,
    /// The module of the application that the input of the run came from, if any.
    pub module: Option<&'a str>,
    /// The page of the application that the input of the run came from, if any.
    pub page: Option<&'a str>,
    /// The caller that the run works for, if any.
    pub caller: Option<&'a Caller>,
}

impl<'a> ClientCall<'a> {
    /// Returns a call without module, page and caller.
    #[must_use]
    pub fn new(tool_name: &'a str, arguments: &'a str) -> Self {
        Self { tool_name, arguments, module: None, page: None, caller: None }
    }

    /// Returns the call of a run.
    pub(crate) fn in_run(tool_name: &'a str, arguments: &'a str, run: &'a RunContext) -> Self {
        let (module, page, caller) = (run.module(), run.page(), run.caller());
        Self { tool_name, arguments, module, page, caller }
    }

    /// Sets the module and the page.
    #[must_use]
    pub fn at(mut self, module: &'a str, page: &'a str) -> Self {
        (self.module, self.page) = (Some(module), Some(page));
        self
    }
}

/// Asks the authorizer, after the rules that apply to all agents.
pub(crate) fn authorize(
    authorizer: Option<&dyn Authorizer>,
    call: &ClientCall<'_>,
) -> Result<(), String> {
    if call.tool_name.starts_with('_') {
        return Err("names that begin with `_` are reserved".to_owned());
    }
    if let Some(problem) = malformed(call.arguments) {
        return Err(problem);
    }
    let Some(authorizer) = authorizer else { return Ok(()) };
    let decided = catch_unwind(AssertUnwindSafe(|| authorizer.authorize(call)));
    match decided.unwrap_or_else(|_| Authorization::deny("the authorizer panicked")) {
        Authorization::Allow => Ok(()),
        Authorization::Deny { reason } if reason.trim().is_empty() => {
            Err("it is not allowed here".to_owned())
        }
        Authorization::Deny { reason } => Err(reason),
    }
}

/// Returns the reason why the arguments are not JSON, if they are not.
fn malformed(arguments: &str) -> Option<String> {
    let error = serde_json::from_str::<IgnoredAny>(arguments).err()?;
    Some(format!("its arguments are not JSON: {error}"))
}

/// An authorizer that allows the tools of a list, on all pages or on one.
///
/// # Examples
///
/// ```
/// use forgeline::agent::access::{AllowList, Authorization, Authorizer as _, ClientCall};
///
/// let list = AllowList::of(["page.read"]).on_page("calculator", ["calculator.press"]);
/// let press = ClientCall::new("calculator.press", "{}");
/// assert_eq!(list.authorize(&press.at("tools", "calculator")), Authorization::Allow);
/// let denied = list.authorize(&press.at("tools", "settings"));
/// assert_eq!(denied, Authorization::deny("`calculator.press` is not on the list of this page"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct AllowList {
    everywhere: BTreeSet<Text>,
    pages: BTreeMap<Text, BTreeSet<Text>>,
}

impl AllowList {
    /// Returns a list that allows these tools on all pages.
    #[must_use]
    pub fn of<N: Into<Text>>(tool_names: impl IntoIterator<Item = N>) -> Self {
        let everywhere = tool_names.into_iter().map(Into::into).collect();
        Self { everywhere, pages: BTreeMap::new() }
    }

    /// Allows these tools also on a page.
    #[must_use]
    pub fn on_page<N: Into<Text>>(
        mut self,
        page: impl Into<Text>,
        tool_names: impl IntoIterator<Item = N>,
    ) -> Self {
        let names = tool_names.into_iter().map(Into::into);
        self.pages.entry(page.into()).or_default().extend(names);
        self
    }
}

impl Authorizer for AllowList {
    fn authorize(&self, call: &ClientCall<'_>) -> Authorization {
        if let Some(problem) = malformed(call.arguments) {
            return Authorization::deny(problem);
        }
        let has = |names: &BTreeSet<Text>| names.iter().any(|name| name == call.tool_name);
        let of_page = call.page.and_then(|page| self.pages.iter().find(|(it, _)| *it == page));
        if has(&self.everywhere) || of_page.is_some_and(|(_, names)| has(names)) {
            return Authorization::Allow;
        }
        Authorization::deny(format!("`{}` is not on the list of this page", call.tool_name))
    }
}
