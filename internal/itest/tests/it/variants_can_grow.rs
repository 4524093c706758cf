//! A public variant with named fields is `#[non_exhaustive]`, so that a field can be added to it.

use super::source::{masks, rust_files};

/// The variants with named fields in the public enums of `code` that programs could build or match exhaustively.
fn exhaustive_variants(code: &str) -> Vec<String> {
    let enums = code.split("pub enum ").skip(1);
    let variants = enums.flat_map(|item| {
        let (name, body) = item.split_once('{').unwrap_or_default();
        let name = name.split(['<', ' ']).next().unwrap_or_default();
        exhaustive_in(body).into_iter().map(move |variant| format!("{name}::{variant}"))
    });
    variants.collect()
}

/// The same for the body of one enum, which ends at its bracket.
fn exhaustive_in(body: &str) -> Vec<&str> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in body.char_indices() {
        let is_outside = depth == 0;
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if is_outside => break,
            '}' | ')' | ']' => depth -= 1,
            ',' if is_outside => start = at + 1,
            _ => {}
        }
        if is_outside && c == '{' {
            let head = body.get(start..at).unwrap();
            let name = head.split_whitespace().next_back().filter(|_| !head.contains("exhaustive"));
            found.extend(name);
        }
    }
    found
}

#[test]
fn variants_with_fields_can_grow() {
    let files = rust_files(&["pkg"]);
    let mut exhaustive = Vec::new();
    for file in &files {
        let variants = exhaustive_variants(&masks(file.code()).code);
        exhaustive.extend(variants.iter().map(|variant| format!("{}: {variant}", file.path)));
    }
    assert!(
        exhaustive.is_empty(),
        "add #[non_exhaustive] and a constructor, or hold a struct:\n{}",
        exhaustive.join("\n")
    );
}

#[test]
fn exhaustive_variants_are_found() {
    let code = "pub enum A<T> {\n    One(T),\n    Two { a: u8, b: [u8; 2] },\n    #[serde(x)]\n    #[non_exhaustive]\n    \
                Three {\n        c: B,\n    },\n    Four { d: u8 },\n}\n\nstruct C { e: u8 }\nenum D { Five { f: u8 } }\n\
                pub enum E { Six }\nfn f() { let g = C { e: 1 }; }";
    assert_eq!(exhaustive_variants(code), ["A::Two", "A::Four"]);
}
