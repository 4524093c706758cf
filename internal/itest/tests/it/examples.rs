//! The README shows the first agent as it compiles.

use super::source::read;

#[test]
fn the_readme_shows_the_first_agent_as_it_compiles() {
    let (readme, example) = (read("README.md"), read("docs/examples/first_agent.rs"));
    // What stands above the imports is for the lints of this house.
    let shown = example.split_at(example.find("use ").unwrap()).1;
    assert!(readme.contains(shown.trim()), "README.md does not show docs/examples/first_agent.rs");
    let lines = shown.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 15, "the first agent has {lines} lines, more than 15");
    forgeline_testkit::say(format!("the first agent has {lines} lines"));
}
