//! How many crates a user builds.

use std::{collections::BTreeSet, env, process::Command};

use crate::{Result, gate::Report, measure::per};

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    report.add("library_crates", count("forgeline")?, (125.0, 115.0), "crates, default features");
    report.add("command_crates", count("forgeline-cli")?, (200.0, 160.0), "crates");
    Ok(())
}

fn count(package: &str) -> Result<f64> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "-q", "-p", package, "-e", "normal,build"])
        .args(["--prefix", "none", "--no-dedupe", "-f", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let crates: BTreeSet<_> = text.lines().filter(|line| !line.is_empty()).collect();
    if crates.is_empty() {
        return Err(
            format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    Ok(per(crates.len() as u64, 1))
}
