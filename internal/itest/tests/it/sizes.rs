//! Files fit in the head: `make size` prints this report.

use super::source::rust_files;

/// Lines without tests that a file may have. 300 is the aim, and what is above it is listed.
const MOST: usize = 500;
const AIM: usize = 300;

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
    let worst = &sizes[count - 1];
    assert!(worst.0 <= MOST, "{} has {} lines, more than {MOST}", worst.1.path, worst.0);
}
