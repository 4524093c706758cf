//! How many crates a user builds.

use std::{collections::BTreeSet, env, process::Command};

use crate::{Result, gate::Report, measure::per};

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    report.add("library_crates", count("forgeline")?, (125.0, 115.0), "crates, default features");
    report.add("command_crates", count("forgeline-cli")?, (200.0, 160.0), "crates");
    let compiling = ["forgeline", "forgeline-cli"].map(|package| {
        let names = tree(package, &["-i", "cc", "--depth", "1"])?;
        let is_other = |line: &&String| !MAY_COMPILE.iter().any(|name| line.starts_with(name));
        let others: Vec<_> = names.iter().filter(is_other).cloned().collect();
        report.note(&format!("{package}: {}", others.join(", ")));
        Ok(others.len() as u64)
    });
    let compiling = compiling.into_iter().sum::<Result<u64>>().map(|count| per(count, 1));
    report.take(
        "c_crates",
        compiling,
        (0.0, 0.0),
        "crates that compile C, besides ring and SQLite",
    );
    Ok(())
}

/// Crates whose C is wanted, and the compiler itself.
const MAY_COMPILE: [&str; 3] = ["cc v", "ring v", "libsqlite3-sys v"];

fn count(package: &str) -> Result<f64> {
    Ok(per(tree(package, &[])?.len() as u64, 1))
}

/// The crates of others that `cargo tree` lists.
fn tree(package: &str, more: &[&str]) -> Result<BTreeSet<String>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "-q", "-p", package, "-e", "normal,build"])
        .args(["--prefix", "none", "--no-dedupe", "-f", "{p}"])
        .args(more)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let crates: BTreeSet<_> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("forgeline"))
        .map(str::to_owned)
        .collect();
    if crates.is_empty() {
        return Err(
            format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    Ok(crates)
}
