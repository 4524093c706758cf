//! The permissions to use tools.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{run::Caller, tools::Tool};

/// The rules for which tools a caller may use. They are checked twice: when tools are offered to the model, and again when the model calls one, because a
/// model may call a tool that it was not offered. The answer depends only on the arguments; a panic refuses.
///
/// Default: [`NamedPermissions`].
///
/// # Examples
///
/// ```
/// use forgeline::agent::{
///     Caller,
///     access::{NamedPermissions, Permissions as _, ToolAccess},
/// };
///
/// let pay = ToolAccess::new("billing.pay").permission("billing.write");
/// assert!(!NamedPermissions.may_use(None, &pay));
/// let ann = Caller::new("ann").permission("billing.write");
/// assert!(NamedPermissions.may_use(Some(&ann), &pay));
/// ```
pub trait Permissions: Send + Sync {
    /// Returns `true` if the caller may use the tool.
    fn may_use(&self, caller: Option<&Caller>, tool: &ToolAccess<'_>) -> bool;
}

impl<F: Fn(Option<&Caller>, &ToolAccess<'_>) -> bool + Send + Sync> Permissions for F {
    fn may_use(&self, caller: Option<&Caller>, tool: &ToolAccess<'_>) -> bool {
        self(caller, tool)
    }
}

/// Returns `true` when the rules, or [`NamedPermissions`] if there are none, let the caller use the
/// tool. Rules that panic refuse.
pub(crate) fn permits(
    permissions: Option<&dyn Permissions>,
    caller: Option<&Caller>,
    tool: &dyn Tool,
) -> bool {
    let mut access = ToolAccess::new(tool.name());
    (access.module, access.permission) = (tool.module(), tool.permission());
    let permissions = permissions.unwrap_or(&NamedPermissions);
    catch_unwind(AssertUnwindSafe(|| permissions.may_use(caller, &access))).unwrap_or(false)
}

/// The properties of a tool on which its use depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolAccess<'a> {
    /// The tool's name, as it was registered.
    pub name: &'a str,
    /// The module of the application that the tool belongs to, if any.
    pub module: Option<&'a str>,
    /// The permission that the tool requires, if any.
    pub permission: Option<&'a str>,
}

impl<'a> ToolAccess<'a> {
    /// Returns a tool without a module and a permission.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self { name, module: None, permission: None }
    }

    forgeline_types::setters! {
        ToolAccess:
        /// Sets the module.
        module(some &'a str),
        /// Sets the permission.
        permission(some &'a str),
    }
}

/// Permissions by which a caller may use the tools that require no permission, and those whose permission the caller has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it has no parts")]
pub struct NamedPermissions;

impl Permissions for NamedPermissions {
    fn may_use(&self, caller: Option<&Caller>, tool: &ToolAccess<'_>) -> bool {
        tool.permission.is_none_or(|name| caller.is_some_and(|caller| caller.has_permission(name)))
    }
}

/// Permissions by which a caller may use the tools of the modules that the caller may read.
///
/// The permissions of the caller are written `module:level`, with the levels `read`, `write` and `admin`, each of which includes those before it. A caller
/// without any such permission is not restricted; a run without a caller gets the tools that belong to no module. Tools of no module, and of modules whose
/// name begins with `_`, are for all callers, unless a permission of the caller names the module: then its level counts.
///
/// # Examples
///
/// ```
/// use forgeline::agent::{
///     Caller,
///     access::{ModulePermissions, Permissions as _, ToolAccess},
/// };
///
/// let ann = Caller::new("ann").permission("orders:write");
/// let (list, pay) = (ToolAccess::new("orders.list").module("orders"), ToolAccess::new("pay").module("billing"));
/// assert!(ModulePermissions.may_use(Some(&ann), &list));
/// assert!(!ModulePermissions.may_use(Some(&ann), &pay));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it has no parts")]
pub struct ModulePermissions;

impl Permissions for ModulePermissions {
    fn may_use(&self, caller: Option<&Caller>, tool: &ToolAccess<'_>) -> bool {
        let Some(module) = tool.module else { return true };
        let Some(caller) = caller else { return false };
        if caller.permissions.is_empty() {
            return true;
        }
        let parted = caller.permissions.iter().filter_map(|it| it.rsplit_once(':'));
        let mut levels = parted.filter(|(of, _)| *of == module).map(|(_, level)| level).peekable();
        if levels.peek().is_none() {
            return module.starts_with('_');
        }
        levels.any(|level| ["read", "write", "admin"].contains(&level))
    }
}
