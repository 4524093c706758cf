//! Each pack on two implementations of ours, and on broken ones that it must find.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_core::future::BoxFuture;
use serde_json::json;

use super::*;
use crate::conformance::verdict::Report;
use forgeline_agent::{
    Caller,
    access::{
        AllowList, Authorization, Authorizer, ClientCall, ModulePermissions, NamedPermissions,
        ToolAccess,
    },
    approval::{ApprovalContext, Approver, Decision},
    knowledge::{FileMemoryStore, KnowledgeFuture, LocalMemoryStore, MemoryStore, Note, Owner},
};
use forgeline_types::Text;

/// Rules of permissions.
type May = fn(Option<&Caller>, &ToolAccess<'_>) -> bool;

fn assert_conforms(report: &Report) {
    assert!(report.is_conforming(), "{report}");
}

/// The names of the checks that failed.
fn failed(report: &Report) -> Vec<&'static str> {
    report.failed().map(|check| check.name).collect()
}

fn calls() -> (ClientCall<'static>, ClientCall<'static>) {
    let call = |name| ClientCall::new(name, r#"{"key":"7"}"#).at("tools", "calculator");
    (call("page.press"), call("page.erase"))
}

fn authorizer_report(authorizer: impl Authorizer + 'static) -> Report {
    let (allowed, denied) = calls();
    check_authorizer(authorizer, &allowed, &denied)
}

/// An authorizer as a program would write it.
fn by_hand(call: &ClientCall<'_>) -> Authorization {
    match serde_json::from_str::<serde_json::Value>(call.arguments) {
        Ok(_) if call.tool_name == "page.press" => Authorization::Allow,
        Ok(_) => Authorization::deny("only pressing keys is allowed"),
        Err(error) => Authorization::deny(error.to_string()),
    }
}

// Covers: T-61, CT-01, CT-02, CT-03, CT-04, CT-05, CT-06, CT-07, CT-08, CT-09, CT-10, CT-11, CT-12, CT-13
#[test]
fn our_authorizers_conform() {
    assert_conforms(&authorizer_report(AllowList::of(["page.press"])));
    let of_page = AllowList::default().on_page("calculator", ["page.press"]);
    assert_conforms(&authorizer_report(of_page));
    assert_conforms(&authorizer_report(by_hand));
}

#[test]
fn broken_authorizers_fail_the_check_that_is_meant_for_them() {
    type Decide = Box<dyn Fn(&ClientCall<'_>) -> Authorization + Send + Sync>;
    let count = AtomicUsize::new(0);
    let panics = |_: &ClientCall<'_>| std::panic::panic_any("boom");
    let rows: Vec<(&str, Decide)> = vec![
        ("allowed", Box::new(|_| Authorization::deny("no"))),
        ("denied", Box::new(|_| Authorization::Allow)),
        (
            "denied",
            Box::new(|call| match by_hand(call) {
                Authorization::Deny { .. } => Authorization::deny(" "),
                Authorization::Allow => Authorization::Allow,
            }),
        ),
        (
            "repeated",
            Box::new(move |call| match count.fetch_add(1, Ordering::SeqCst) {
                n if n % 5 == 4 => Authorization::deny("enough"),
                _ => by_hand(call),
            }),
        ),
        (
            "malformed",
            Box::new(|call| match call.tool_name {
                "page.press" => Authorization::Allow,
                _ => by_hand(call),
            }),
        ),
        (
            "empty",
            Box::new(
                move |call| if call.arguments.is_empty() { panics(call) } else { by_hand(call) },
            ),
        ),
        (
            "no-place",
            Box::new(move |call| if call.page.is_none() { panics(call) } else { by_hand(call) }),
        ),
        (
            "by-value",
            Box::new(|call| {
                let (allowed, _) = calls();
                let is_it = std::ptr::eq(call.tool_name, allowed.tool_name);
                if call.tool_name == "page.press" && !is_it {
                    Authorization::deny("another")
                } else {
                    by_hand(call)
                }
            }),
        ),
    ];
    for (name, decide) in rows {
        let report = authorizer_report(decide);
        assert!(failed(&report).contains(&name), "{name}: {report}");
    }
}

// Covers: CT-14, CT-19, CT-20
#[test]
fn our_permissions_conform() {
    let ann = Caller::new("ann").permission("orders:read").permission("orders.read");
    let open = ToolAccess::new("orders.list").module("orders").permission("orders.read");
    let closed = ToolAccess::new("billing.pay").module("billing").permission("billing.write");
    assert_conforms(&check_permissions(NamedPermissions, &ann, &open, &closed));
    assert_conforms(&check_permissions(ModulePermissions, &ann, &open, &closed));

    let rows: [(&str, May); 4] = [
        ("open", |_, _| false),
        ("forged-name", |_, _| true),
        ("no-caller", |caller, tool| caller.is_none() || tool.name == "orders.list"),
        ("repeated", |_, tool| {
            static ASKED: AtomicUsize = AtomicUsize::new(0);
            tool.name == "orders.list" && !ASKED.fetch_add(1, Ordering::SeqCst).is_multiple_of(4)
        }),
    ];
    for (name, may) in rows {
        let report = check_permissions(may, &ann, &open, &closed);
        assert!(failed(&report).contains(&name), "{name}: {report}");
    }
}

// Covers: CT-14, CT-15, CT-16, CT-17, CT-18, CT-22
#[test]
fn our_permissions_of_modules_conform() {
    assert_conforms(&check_module_permissions(&ModulePermissions));
    let by_hand = |caller: Option<&Caller>, tool: &ToolAccess<'_>| {
        let (Some(caller), Some(module)) = (caller, tool.module) else { return true };
        let names = |level: &str| caller.has_permission(&format!("{module}:{level}"));
        let is_named = caller.permissions.iter().any(|it| it.split(':').next() == Some(module));
        let is_open = caller.permissions.is_empty() || (module.starts_with('_') && !is_named);
        is_open || ["read", "write", "admin"].into_iter().any(names)
    };
    assert_conforms(&check_module_permissions(&by_hand));

    let reads = |caller: Option<&Caller>, module: &str| {
        caller.is_some_and(|caller| caller.has_permission(&format!("{module}:read")))
    };
    assert_eq!(
        failed(&check_module_permissions(
            &move |caller: Option<&Caller>, tool: &ToolAccess<'_>| {
                tool.module.is_some_and(|module| reads(caller, module))
            }
        )),
        ["unrestricted", "reserved", "levels", "no-module"]
    );
    let all: May = |_, _| true;
    assert_eq!(failed(&check_module_permissions(&all)), ["accessible", "reserved-named", "levels"]);
}

/// An approver that is a type.
struct Names(&'static str);

impl Approver for Names {
    fn decide(&self, asked: ApprovalContext) -> BoxFuture<'static, Decision> {
        let is_it = asked.request.tool_name == self.0;
        let decision = if is_it { Decision::Grant } else { Decision::reject("not that one") };
        Box::pin(std::future::ready(decision))
    }
}

#[test]
fn our_approvers_conform() {
    fn report(approver: impl Approver + 'static) -> Report {
        let asked = |tool_name| AskedCall { tool_name, arguments: json!({ "path": "a" }) };
        check_approver(approver, &asked("files.read"), &asked("files.remove"))
    }
    assert_conforms(&report(Names("files.read")));
    let by_hand = |asked: ApprovalContext| async move {
        tokio::task::yield_now().await;
        let is_read = asked.request.tool_name == "files.read";
        if is_read { Decision::Grant } else { Decision::reject("") }
    };
    assert_conforms(&report(by_hand));

    let all = |_: ApprovalContext| std::future::ready(Decision::Grant);
    assert_eq!(failed(&report(all)), ["rejected", "side-by-side"]);
    let none = |_: ApprovalContext| std::future::ready(Decision::reject("no"));
    assert_eq!(failed(&report(none)), ["granted", "side-by-side"]);
    let silent = |_: ApprovalContext| std::future::pending::<Decision>();
    assert_eq!(failed(&report(silent)), ["granted", "rejected", "side-by-side"]);
    let forgets = |asked: ApprovalContext| async move {
        let is_read = asked.request.tool_name == "files.read";
        if is_read { Decision::GrantAlways } else { std::future::pending().await }
    };
    assert_eq!(failed(&report(forgets)), ["rejected"]);
}

#[test]
fn our_stores_of_memories_conform() {
    assert_conforms(&check_memory_store(LocalMemoryStore::default()));
    let name = format!("forgeline-pack-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    assert_conforms(&check_memory_store(FileMemoryStore::new(folder.join("kept.jsonl"))));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A store with one fault.
struct Faulty(LocalMemoryStore, &'static str);

impl Faulty {
    fn owner(&self, owner: Owner) -> Owner {
        if self.1 == "owners" { Owner::default() } else { owner }
    }
}

impl MemoryStore for Faulty {
    fn save(&self, owner: Owner, mut note: Note) -> KnowledgeFuture<()> {
        let (store, owner, fault) = (self.0.clone(), self.owner(owner), self.1);
        if fault == "round-trip" {
            note.text = note.text.trim_end_matches('0').to_owned() + ".";
        }
        Box::pin(async move {
            if fault == "repeated" {
                store.delete(owner.clone(), note.key.clone()).await?;
            }
            store.save(owner, note).await
        })
    }

    fn load(&self, owner: Owner, key: Text) -> KnowledgeFuture<Option<Note>> {
        if self.1 == "unknown" && key == "nothing" {
            return Box::pin(std::future::ready(Ok(Some(Note::new(key, "made up")))));
        }
        self.0.load(self.owner(owner), key)
    }

    fn find(&self, owner: Owner, query: String, most: usize) -> KnowledgeFuture<Vec<Note>> {
        let most = if self.1 == "find" { 9 } else { most };
        self.0.find(self.owner(owner), query, most)
    }

    fn keys(&self, owner: Owner, most: usize) -> KnowledgeFuture<Vec<Text>> {
        let (keys, fault) = (self.0.keys(self.owner(owner), most), self.1);
        Box::pin(async move {
            let mut keys = keys.await?;
            if fault == "keys" {
                keys.reverse();
            }
            Ok(keys)
        })
    }

    fn delete(&self, owner: Owner, key: Text) -> KnowledgeFuture<bool> {
        if self.1 == "delete" && key == "drink" {
            return Box::pin(std::future::ready(Ok(true)));
        }
        self.0.delete(self.owner(owner), key)
    }
}

#[test]
fn broken_stores_of_memories_fail_the_check_that_is_meant_for_them() {
    for fault in ["round-trip", "unknown", "repeated", "delete", "keys", "find", "owners"] {
        let report = check_memory_store(Faulty(LocalMemoryStore::default(), fault));
        assert!(failed(&report).contains(&fault), "{fault}: {report}");
    }
}
