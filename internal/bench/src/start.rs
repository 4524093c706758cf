//! What the command costs before it does anything, and how large it is.

use std::{
    env::{self, consts::EXE_SUFFIX},
    fs,
    path::PathBuf,
    process::Command,
};

use crate::{Result, callgrind::instructions_of, gate::Report, measure::per};

/// The arguments, and the millions of instructions from the first to the last: 15 million take about 5 ms.
const STARTS: [(&str, &[&str], (f64, f64)); 4] = [
    ("start_help_instructions", &["--help"], (1.15, 1.0)),
    ("start_parse_instructions", &["parse"], (5.6, 4.0)),
    ("start_models_instructions", &["models", "--provider", "demo"], (2.5, 2.0)),
    ("start_run_instructions", &["run", "--provider", "demo", "Hello."], (10.6, 8.0)),
];

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let command = build()?;
    for (gate, arguments, bounds) in STARTS {
        let counted = instructions_of(Command::new(&command).args(arguments))?;
        let millions = counted.map(|count| per(count, 1_000_000));
        report.add(gate, millions, bounds, "million instructions, the whole process");
    }
    let size = per(fs::metadata(&command)?.len(), 1 << 20);
    report.add("command_size", size, (12.5, 10.5), "MiB, the stripped file");
    Ok(())
}

/// Builds the command beside this program, in the same profile.
fn build() -> Result<PathBuf> {
    let own = env::current_exe()?;
    let folder = own.parent().ok_or("no folder")?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(profile) => profile,
    };
    let target = folder.parent().ok_or("no target folder")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "-q", "-p", "forgeline-cli", "--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    let command = folder.join(format!("forgeline{EXE_SUFFIX}"));
    if built.success() { Ok(command) } else { Err("the command does not build".into()) }
}
