//! Processes of this machine, as far as `/proc` tells.

use std::{
    fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// Waits until a process runs no more; one that waits for its parent to hear of its end does not.
///
/// # Panics
///
/// Panics when it runs for a minute more.
pub fn wait_for_end(pid: u32) {
    let began = Instant::now();
    while is_running(pid) {
        assert!(began.elapsed() < Duration::from_mins(1), "the process {pid} still runs");
        thread::yield_now();
    }
}

/// Returns the processes that this one has started and that run with `argument` in their command line.
#[must_use]
pub fn children_with(argument: &str) -> Vec<u32> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let names = processes.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    let is_ours = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_own = fields(*pid).and_then(|fields| fields.1) == Some(std::process::id());
        is_own && String::from_utf8_lossy(&command).contains(argument)
    };
    names.filter(is_ours).collect()
}

fn is_running(pid: u32) -> bool {
    if fs::exists("/proc/self/stat").unwrap_or(false) {
        return fields(pid).is_some_and(|(state, _)| state != 'Z');
    }
    let pid = pid.to_string();
    Command::new("kill").args(["-0", &pid]).output().is_ok_and(|output| output.status.success())
}

/// Returns the state of a process and the id of its parent; `None` when it is gone.
fn fields(pid: u32) -> Option<(char, Option<u32>)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before them, in parentheses, may have blanks.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()))
}
