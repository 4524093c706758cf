//! What the command costs before it does anything, and how large it is.

use std::{
    env::{self, consts::EXE_SUFFIX},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Result,
    callgrind::instructions_of,
    gate::Report,
    measure::{per, runs},
};

/// The arguments, and the millions of instructions from the first to the last: 15 million take about 5 ms.
const STARTS: [(&str, &[&str], (f64, f64)); 4] = [
    ("start_help_instructions", &["--help"], (1.6, 1.0)),
    ("start_parse_instructions", &["parse"], (4.1, 3.5)),
    ("start_models_instructions", &["models", "--provider", "demo"], (2.0, 1.5)),
    ("start_run_instructions", &["run", "--provider", "demo", "Hello."], (7.6, 6.5)),
];

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let command = build()?;
    for (gate, arguments, bounds) in STARTS {
        let counted = instructions_of(Command::new(&command).args(arguments));
        let millions = counted.map(|count| count.map(|count| per(count, 1_000_000)));
        report.take(gate, millions, bounds, "million instructions, the whole process");
    }
    report.take("start_cpu", slowest(&command), (5.0, 4.0), "ms of CPU, the slowest of the four");
    let size = per(fs::metadata(&command)?.len(), 1 << 20);
    report.add("command_size", size, (24.5, 12.5), "MiB, the stripped file");
    Ok(())
}

/// Starts of which the mean counts: the system tells the time of those that ended in hundredths of a second.
const RUNS: u32 = 100;

/// Means of which the least counts.
const ROUNDS: usize = 3;

/// The ms of CPU, system included, that the slowest start takes.
fn slowest(command: &Path) -> Result<Option<f64>> {
    let mut slowest = 0.0_f64;
    for (_, arguments, _) in STARTS {
        let mut least = f64::INFINITY;
        for _ in 0..runs().min(ROUNDS) {
            let Some(before) = ended_ticks()? else { return Ok(None) };
            for _ in 0..RUNS {
                start(command, arguments)?;
            }
            let ticks = ended_ticks()?.unwrap_or(0) - before;
            least = least.min(per(ticks * 10, u64::from(RUNS)));
        }
        slowest = slowest.max(least);
    }
    Ok(Some(slowest))
}

fn start(command: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new(command).args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The time of this process's children that ended, in hundredths of a second; `None` where the system does
/// not tell.
fn ended_ticks() -> Result<Option<u64>> {
    let Ok(stat) = fs::read_to_string("/proc/self/stat") else { return Ok(None) };
    // The name of the program may hold spaces; behind it `cutime` is the 14th field.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: Vec<u64> =
        fields.skip(13).take(2).map(str::parse).collect::<std::result::Result<_, _>>()?;
    Ok(Some(ticks.iter().sum()))
}

/// The command in a build with this program's features: one of its own would take minutes.
const COMMAND: &str = "measured-command";

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
    let mut cargo = Command::new(cargo);
    cargo
        .args(["build", "-q", "-p", "forgeline-bench", "--bin", COMMAND, "--profile", profile])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    // `cargo run` describes this package in variables that ring's build script watches: with
    // them, ring and all above it would be built again.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&*name);
        }
    }
    let built = cargo.status()?;
    let command = folder.join(format!("{COMMAND}{EXE_SUFFIX}"));
    if built.success() { Ok(command) } else { Err("the command does not build".into()) }
}
