//! The checks for permissions of modules.

use super::stage::report;
use crate::conformance::verdict::{CheckVerdict, Report, hold};
use forgeline_agent::{
    Caller,
    access::{Permissions, ToolAccess},
};

/// Checks permissions of the form `module:level`, like [`ModulePermissions`](forgeline_agent::access::ModulePermissions).
///
/// # Examples
///
/// ```
/// use forgeline::{agent::access::ModulePermissions, testing::conformance::agent::check_module_permissions};
///
/// let report = check_module_permissions(&ModulePermissions);
/// assert!(report.is_conforming(), "{report}");
/// ```
#[must_use]
pub fn check_module_permissions(permissions: &dyn Permissions) -> Report {
    let rows = |rows: &[AccessRow<'_>]| verdict(permissions, rows);
    let checks = vec![
        report("accessible", "tools of modules that the caller may read are open", || async {
            rows(&[(&["a:read"], Some("a"), true), (&["a:read"], Some("b"), false)])
        }),
        report("unrestricted", "a caller without permissions may use all modules", || async {
            rows(&[(&[], Some("a"), true), (&[], Some("_sdk"), true), (&[], None, true)])
        }),
        report("reserved", "reserved modules are open where they are not named", || async {
            rows(&[(&["a:read"], Some("_sdk"), true)])
        }),
        report("reserved-named", "a reserved module that is named is gated", || async {
            rows(&[(&["_sdk:none"], Some("_sdk"), false), (&["_sdk:read"], Some("_sdk"), true)])
        }),
        report("levels", "write and admin imply read, and other words nothing", || async {
            let (write, admin) = (&["a:write"], &["a:admin"]);
            rows(&[
                (write, Some("a"), true),
                (admin, Some("a"), true),
                (&["a:no"], Some("a"), false),
            ])
        }),
        report("no-module", "a tool of no module is open", || async {
            rows(&[(&["a:read"], None, true)])
        }),
    ];
    Report { checks }
}

/// The permissions of a caller, the module of a tool, and whether the caller may use it.
type AccessRow<'a> = (&'a [&'a str], Option<&'a str>, bool);

fn verdict(rules: &dyn Permissions, rows: &[AccessRow<'_>]) -> CheckVerdict {
    for (permissions, module, want) in rows {
        let caller = Caller::new("caller");
        let caller = permissions.iter().fold(caller, |caller, name| caller.permission(*name));
        let mut tool = ToolAccess::new("tool");
        tool.module = *module;
        let got = rules.may_use(Some(&caller), &tool);
        hold(got == *want, || format!("{permissions:?} and {module:?}: {got}"))?;
    }
    Ok(())
}
