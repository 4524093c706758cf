//! What a workload takes in a process of its own: instructions under valgrind, allocations bare.

use std::{env, io::ErrorKind, process::Command};

use crate::{Result, measure::per};

/// A proxy of the user's is no part of what is measured.
pub(crate) const NO_PROXY: [(&str, &str); 2] =
    [("NO_PROXY", "127.0.0.1"), ("no_proxy", "127.0.0.1")];

/// What a run of `work NAME COUNT` took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) allocations: u64,
    /// Most memory that was resident, in bytes.
    pub(crate) peak_bytes: u64,
}

/// Runs a workload bare.
pub(crate) fn cost(workload: &str, count: u64) -> Result<Cost> {
    let output = Command::new(env::current_exe()?)
        .args(["work", workload, &count.to_string()])
        .envs(NO_PROXY)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace().map(str::parse);
    match (words.next(), words.next()) {
        (Some(Ok(allocations)), Some(Ok(peak_bytes))) => Ok(Cost { allocations, peak_bytes }),
        _ => {
            Err(format!("work {workload} failed: {}", String::from_utf8_lossy(&output.stderr))
                .into())
        }
    }
}

/// Allocations that each of the chunks between `few` and `many` costs: start-up cancels out.
pub(crate) fn allocations_per_chunk(workload: &str, (few, many): (u64, u64)) -> Result<f64> {
    let (less, more) = (cost(workload, few)?, cost(workload, many)?);
    Ok(per(more.allocations.saturating_sub(less.allocations), many - few))
}

/// Instructions that each of the chunks between `few` and `many` costs; `None` without valgrind.
pub(crate) fn instructions_per_chunk(
    workload: &str,
    (few, many): (u64, u64),
) -> Result<Option<f64>> {
    let (Some(less), Some(more)) = (instructions(workload, few)?, instructions(workload, many)?)
    else {
        return Ok(None);
    };
    Ok(Some(per(more.saturating_sub(less), many - few)))
}

fn instructions(workload: &str, count: u64) -> Result<Option<u64>> {
    instructions_of(Command::new(env::current_exe()?).args(["work", workload, &count.to_string()]))
}

/// Instructions of a whole process, which reads nothing and must succeed; `None` without valgrind.
pub(crate) fn instructions_of(command: &Command) -> Result<Option<u64>> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(command.get_program())
        .args(command.get_args())
        .envs(NO_PROXY)
        .output();
    let output = match run {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .map(|(_, count)| count.trim());
    match collected.map(str::parse) {
        Some(Ok(count)) if output.status.success() => Ok(Some(count)),
        _ => Err(format!("valgrind failed on {command:?}: {text}").into()),
    }
}
