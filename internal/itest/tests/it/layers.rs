//! Imports point down, and no two modules of `pkg/` need each other.

use super::{
    modules::{Graph, RoomCrate, Uses, cycles},
    source::rust_files,
};

/// Modules and their ranks; the longest prefix of a path counts.
const RANKS: [(&str, u8); 23] = [
    ("json", 0),
    ("types", 1),
    ("macros", 0),
    ("llm::sse", 2),
    ("llm::ndjson", 2),
    ("llm::parser", 2),
    ("llm", 3),
    ("agent::core", 4),
    ("agent::knowledge", 5),
    ("agent::lexical", 5),
    ("agent::notice", 5),
    ("agent::run", 5),
    ("agent::support", 5),
    ("agent::tools", 5),
    ("agent", 6),
    ("mcp", 7),
    ("skills", 7),
    ("store", 2),
    ("testing", 4),
    ("testing::conformance::agent", 7),
    ("testing::stores", 7),
    ("server", 7),
    ("prelude", 8),
];

fn rank(path: &str) -> Option<u8> {
    let is_prefix = |module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let ranks = RANKS.iter().filter(|(module, _)| is_prefix(module));
    ranks.max_by_key(|(module, _)| module.len()).map(|(_, rank)| *rank)
}

/// The uses that point up, each as a sentence.
fn upward(uses: &Uses<'_>) -> Vec<String> {
    let below_root = uses.iter().filter(|(module, _)| !module.is_empty());
    let pairs = below_root.flat_map(|(from, targets)| targets.iter().map(move |to| (from, to)));
    let wrong = |(from, (to, path)): (&&str, (&&str, &String))| match (rank(from), rank(to)) {
        (Some(own), Some(rank)) if rank <= own => None,
        (Some(own), Some(rank)) => {
            Some(format!("{from} (rank {own}) uses {to} (rank {rank}): {path}"))
        }
        (None, _) => Some(format!("{from} has no rank in {}", file!())),
        (_, None) => Some(format!("{from} uses {to}, which has no rank: {path}")),
    };
    pairs.filter_map(wrong).collect()
}

/// The number of cycles, and of modules in all of them.
pub(crate) fn count() -> (usize, usize) {
    let graph = Graph::from_files(&rust_files(&["pkg"]));
    let cycles = cycles(&graph.uses());
    (cycles.len(), cycles.iter().map(Vec::len).sum())
}

#[test]
fn imports_point_down() {
    let graph = Graph::from_files(&rust_files(&["pkg"]));
    let uses = graph.uses();
    let wrong = upward(&uses);
    assert!(wrong.is_empty(), "imports that point up:\n{}", wrong.join("\n"));
    forgeline_testkit::say(format!("{} modules of pkg/ import downwards only", uses.len()));
}

#[test]
fn every_ranked_module_exists() {
    let graph = Graph::from_files(&rust_files(&["pkg"]));
    for (module, _) in RANKS {
        assert!(graph.contains(module), "{module} has a rank and does not exist");
    }
}

#[test]
fn modules_do_not_need_each_other() {
    let graph = Graph::from_files(&rust_files(&["pkg"]));
    let uses = graph.uses();
    let cycles = cycles(&uses);
    for (at, cycle) in cycles.iter().enumerate() {
        println!("cycle {} of {} modules", at + 1, cycle.len());
        for from in cycle {
            for (to, path) in uses[from].iter().filter(|(to, _)| cycle.contains(to)) {
                println!("    {from} → {to}   {path}");
            }
        }
    }
    assert!(cycles.is_empty(), "{} import cycles, listed above", cycles.len());
}

/// The import cycles between folders that are left, each the folders of one cycle. A folder is every directory below
/// `pkg/`; a file belongs to the directory it is in.
const FOLDER_CYCLES: &[&[&str]] = &[];

#[test]
fn folders_do_not_need_each_other() {
    let graph = Graph::from_files(&rust_files(&["pkg"]));
    let uses = graph.folder_uses();
    let cycles = cycles(&uses);
    for (at, cycle) in cycles.iter().enumerate() {
        println!("cycle {} of {} folders: {cycle:?}", at + 1, cycle.len());
        for from in cycle {
            for (to, path) in uses[from].iter().filter(|(to, _)| cycle.contains(to)) {
                println!("    {from} → {to}   {path}");
            }
        }
    }
    assert_eq!(cycles, FOLDER_CYCLES, "listed above; a cycle that is gone leaves the list");
    forgeline_testkit::say(format!("{} folders of pkg/", uses.len()));
}

#[test]
fn paths_between_crates_lead_to_the_file_that_defines_the_item() {
    let of = |name: &str, module: &str| RoomCrate { name: name.into(), module: module.into() };
    let crates = vec![of("forgeline_types", "types"), of("forgeline_llm", "llm")];
    let files = [
        (
            "pkg/types/lib.rs",
            "mod event; mod text; pub use event::Event; pub mod private { pub use crate::text::clipped; }",
        ),
        ("pkg/types/event.rs", "pub struct Event;"),
        ("pkg/types/text.rs", "pub fn clipped() {}"),
        ("pkg/llm/lib.rs", "mod chunk; mod http; pub use chunk::Chunk;"),
        (
            "pkg/llm/chunk.rs",
            "use forgeline_types::{Event, private::clipped}; pub struct Chunk(Event); fn f() { clipped() }",
        ),
        ("pkg/llm/http/mod.rs", "mod body;"),
        ("pkg/llm/http/body.rs", "use crate::Chunk; struct Body(Chunk);"),
    ];
    let graph = Graph::new(crates, files);
    let uses = graph.uses();
    let targets = |from: &str| uses[from].keys().copied().collect::<Vec<_>>();
    assert_eq!(targets("llm::chunk"), ["types::event", "types::text"]);
    assert_eq!(targets("llm::http::body"), ["llm::chunk"]);
    let folders = graph.folder_uses();
    assert_eq!(folders["llm::http"].keys().copied().collect::<Vec<_>>(), ["llm"]);
    assert_eq!(folders["llm"].keys().copied().collect::<Vec<_>>(), ["types"]);
}

#[test]
fn an_import_that_points_up_is_found_in_every_spelling() {
    let tree = [
        (
            "pkg/llm/mod.rs",
            "mod chunk; pub mod sse; pub mod parser; pub use chunk::StreamChunk; pub fn collect() {}",
        ),
        ("pkg/llm/chunk.rs", "pub struct StreamChunk;"),
        ("pkg/llm/sse/mod.rs", "mod decoder; mod error; pub use error::DecodeError;"),
        ("pkg/llm/sse/decoder.rs", ""),
        ("pkg/llm/sse/error.rs", "pub struct DecodeError;"),
        ("pkg/llm/parser/mod.rs", "pub struct X;"),
        ("pkg/types/event.rs", ""),
        ("pkg/agent/mod.rs", "pub mod core;"),
        ("pkg/agent/core/mod.rs", "mod machine;"),
        ("pkg/agent/core/machine.rs", "pub struct Machine;"),
    ];
    let cases = [
        ("plain", "pkg/types/event.rs", "use crate::llm::parser::X;", 1),
        (
            "in a tree",
            "pkg/types/event.rs",
            "use crate::{types::Y, llm::{StreamChunk, sse::*, parser::{X as Z}}};",
            2,
        ),
        ("in a body", "pkg/llm/sse/decoder.rs", "fn f() { crate::llm::collect(); }", 1),
        ("by super", "pkg/llm/sse/decoder.rs", "use super::super::StreamChunk;", 1),
        (
            "by a name",
            "pkg/llm/sse/decoder.rs",
            "use super::super as up; fn f() { up::collect() }",
            1,
        ),
        (
            "of a module",
            "pkg/llm/sse/decoder.rs",
            "use crate::agent::core::machine; fn f() { machine::x() }",
            1,
        ),
        (
            "in text",
            "pkg/types/event.rs",
            "fn f() { \"crate::llm::collect\"; } // crate::llm::collect",
            0,
        ),
        (
            "down",
            "pkg/agent/core/machine.rs",
            "use crate::{llm::StreamChunk, types::Text as T};",
            0,
        ),
        ("in a scope", "pkg/llm/sse/decoder.rs", "pub(in crate::llm) fn f() {}", 0),
        ("beside", "pkg/llm/sse/decoder.rs", "use super::{DecodeError, super::parser::X};", 0),
    ];
    for (name, file, code, want) in cases {
        let code = format!("{code} fn body() {{}}");
        let others = tree.iter().copied().filter(|(path, _)| *path != file);
        let graph = Graph::new(Vec::new(), others.chain([(file, code.as_str())]));
        let wrong = upward(&graph.uses());
        assert_eq!(wrong.len(), want, "{name}: {wrong:?}");
    }
}

#[test]
fn a_cycle_is_found_through_a_re_export_and_a_re_export_is_not_one() {
    let facade = (
        "pkg/llm/mod.rs",
        "#[cfg_attr(\n    x,\n    y\n)]\nmod a; mod b; mod c; pub use a::A; pub(crate) use {b::B, c::{C, D}};",
    );
    let cases = [
        (
            "siblings by way of the parent",
            "use super::B; struct A(B);",
            "use super::C; struct B;",
            "struct C;",
            vec![],
        ),
        (
            "two",
            "use super::B; struct A(B);",
            "fn b(a: super::A) {} struct B;",
            "struct C;",
            vec![vec!["llm::a", "llm::b"]],
        ),
        (
            "three",
            "use super::b::B; struct A;",
            "use crate::llm::C; struct B;",
            "use super::*; struct C(A);",
            vec![vec!["llm::a", "llm::b", "llm::c"]],
        ),
        (
            "by a module",
            "use super::b; fn f() { b::f() } struct A;",
            "use super::a::*; struct B(A);",
            "struct C;",
            vec![vec!["llm::a", "llm::b"]],
        ),
    ];
    for (name, a, b, c, want) in cases {
        let files = [facade, ("pkg/llm/a.rs", a), ("pkg/llm/b.rs", b), ("pkg/llm/c.rs", c)];
        assert_eq!(cycles(&Graph::new(Vec::new(), files).uses()), want, "{name}");
    }
    let parent = [
        ("pkg/llm/mod.rs", "mod a; pub use a::A; pub struct Own;"),
        ("pkg/llm/a.rs", "use super::Own; pub struct A(Own);"),
    ];
    assert!(cycles(&Graph::new(Vec::new(), parent).uses()).is_empty(), "a re-export is not a use");
    let parent = [
        ("pkg/llm/mod.rs", "mod a; pub use a::A; pub struct Own(Option<A>);"),
        ("pkg/llm/a.rs", "use super::Own; pub struct A(Own);"),
    ];
    assert_eq!(
        cycles(&Graph::new(Vec::new(), parent).uses()),
        [["llm", "llm::a"]],
        "a parent uses its child"
    );
}
