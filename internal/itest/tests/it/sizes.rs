//! Files fit in the head: `make size` prints this report.

use super::source::rust_files;

/// Lines without tests that a file should have at most; what is above is listed.
const AIM: usize = 300;
/// Lines that only these files may pass, each with its reason.
const MOST: usize = 500;
const LONGER: [(&str, &str); 1] =
    [("pkg/llm/openai/wire.rs", "one struct after another, in the order of the protocol")];

#[test]
fn files_fit_in_the_head() {
    let mut sizes: Vec<_> = rust_files(&["pkg", "cmd"])
        .into_iter()
        .map(|file| (file.code().lines().count(), file))
        .filter(|(lines, _)| *lines > 0)
        .collect();
    sizes.sort_by_key(|(lines, _)| *lines);
    let count = sizes.len();
    let long: Vec<_> = sizes.iter().rev().take_while(|(lines, _)| *lines > AIM).collect();
    let (mut all, mut docs, mut tests) = (0, 0, 0);
    for (lines, file) in &sizes {
        all += lines;
        docs += file.code().lines().filter(|line| line.trim().starts_with("//")).count();
        tests += file.tests().lines().count();
    }
    println!("{count} files, {all} lines, {tests} lines of unit tests beside them");
    println!("median {} lines, {} files over {AIM}", sizes[count / 2].0, long.len());
    println!("documentation: {} % of the lines", docs * 100 / all);
    for (lines, file) in &long {
        println!("{lines:>5}  {}", file.path);
    }
    for (lines, file) in &long {
        let is_known = LONGER.iter().any(|(path, _)| *path == file.path);
        assert!(*lines <= MOST || is_known, "{} has {lines} lines, more than {MOST}", file.path);
    }
}
