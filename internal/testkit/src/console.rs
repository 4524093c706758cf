//! The checks of the web console in Chromium, which `make console-setup` installs what is missing for.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
};

/// Returns the command that runs checks of the console, without its arguments: the address, the folder of the pictures, names of checks.
///
/// Returns `None` and prints the reason when Chromium or what drives it is not installed.
///
/// # Panics
///
/// Panics when they are not installed although the environment variable `FORGELINE_REQUIRE_BROWSER` is set.
#[must_use]
pub fn browser() -> Option<Command> {
    static NOTICE: Once = Once::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = match env::var_os("FORGELINE_CONSOLE_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => here.join("../../target/console"),
    };
    let chromium =
        PathBuf::from(env::var_os("CHROMIUM").unwrap_or_else(|| "/usr/bin/chromium".into()));
    let needed = [folder.join("node"), folder.join("node_modules/playwright-core"), chromium];
    if let Some(missing) = needed.iter().find(|path| !path.exists()) {
        let reason = format!(
            "{} does not exist; install chromium, and run `make console-setup`",
            missing.display()
        );
        assert!(env::var_os("FORGELINE_REQUIRE_BROWSER").is_none(), "{reason}");
        NOTICE.call_once(|| {
            crate::say(format!("not run: the tests of the console in a browser; {reason}"));
        });
        return None;
    }
    let mut command = Command::new(folder.join("node"));
    command.arg(here.join("console/run.mjs")).env("CONSOLE_MODULES", folder);
    Some(command)
}
