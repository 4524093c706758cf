//! The functions that the attribute refuses, and the places of the errors. Its tools are tested where tools run.

use crate::expand::tool;

/// Returns the problem, and the words at which it points.
fn refused(options: &str, item: &str) -> (String, String) {
    let parsed = |text: &str| text.parse::<proc_macro2::TokenStream>().expect("it is Rust");
    let error = tool(parsed(options), parsed(item)).expect_err("it is refused");
    let (start, end) = (error.span().start(), error.span().end());
    let text = if item.lines().nth(start.line - 1).is_some_and(|line| line.len() >= end.column) {
        item
    } else {
        options
    };
    let line = text.lines().nth(start.line - 1).unwrap_or_default();
    (error.to_string(), line.get(start.column..end.column).unwrap_or_default().to_owned())
}

#[test]
fn errors_say_what_is_expected_and_point_at_the_words() {
    for (item, at, problem) in [
        ("async fn find(id: u32) {}", "find", "write a doc comment"),
        ("/// \nasync fn find(id: u32) {}", "find", "write a doc comment"),
        ("/// Finds.\nfn find(id: u32) {}", "fn", "write `async`"),
        ("/// Finds.\nasync fn find<T>(id: T) {}", "<T>", "no generics"),
        ("/// Finds.\nasync fn find(&self) {}", "&self", "without `self`"),
        ("/// Finds.\nasync fn find(id: &str) {}", "&str", "such as `String`"),
        ("/// Finds.\nasync fn find((a, b): (u8, u8)) {}", "(a, b)", "is a name"),
        ("/// Finds.\nasync fn find(a: State<A>, b: State<B>) {}", "State<B>", "one struct"),
        (
            "/// Finds.\nasync fn find(a: ToolContext, b: ToolContext) {}",
            "ToolContext",
            "at most one",
        ),
    ] {
        let (message, words) = refused("", item);
        assert!(message.contains(problem), "{item}: {message}");
        assert_eq!(words, at, "{item}: {message}");
    }
    assert!(refused("", "struct Find;").0.contains("expected"), "not a function");
}

#[test]
fn an_option_that_is_not_known_is_refused() {
    let item = "/// F.\nasync fn f() {}";
    for (options, problem) in [
        ("nane = \"a\"", "no option `nane`; expected `name`, `effects`"),
        ("name = \"\"", "is empty"),
        ("name = 3", "expected string literal"),
        ("alone, alone", "`alone` is given twice"),
        ("timeout", "expected `=`"),
        ("alone idempotent", "expected `,`"),
    ] {
        let (message, _) = refused(options, item);
        assert!(message.contains(problem), "{options}: {message}");
    }
}

#[test]
fn what_is_made_names_everything_by_the_facade() {
    let item = "/// Finds.\npub async fn find(id: u32, State(db): State<Db>, context: ToolContext) -> String { body }";
    let made = tool("alone".parse().unwrap(), item.parse().unwrap()).unwrap().to_string();
    for part in [
        "pub fn find (state : Db) -> impl :: forgeline :: agent :: tools :: Tool",
        "\"find\" , \"Finds.\" , state ,",
        "find (arguments . id , :: forgeline :: agent :: tools :: State (state) , context)",
        ". alone ()",
    ] {
        assert!(made.contains(part), "{part}: {made}");
    }
    for name in ["serde", "schemars"] {
        let named = made.matches(&format!(":: {name} ::")).count();
        assert_eq!(named, 1, "{made}");
        assert!(
            made.contains(&format!("crate = \"::forgeline::agent::private::{name}\"")),
            "{made}"
        );
    }
}
