//! The files of the program itself: no name and no link leads a tool to one.

#![cfg(unix)]

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::FileTools;
use crate::tools::ToolContext;

/// The content of each file of the program.
const SECRET: &str = "f00d-digest-of-a-token";

/// The files of a program: tokens, a database and what is beside it, a configuration and a log.
const OWN: [&str; 6] = [
    "tokens.txt",
    "service.db",
    "service.db-wal",
    "service.db.lock",
    "serve.toml",
    "forgeline.log",
];

/// A folder with a program's files, and a root beside them.
struct ProgramFolder(PathBuf);

impl ProgramFolder {
    fn new() -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let (process, place) = (std::process::id(), PLACES.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("forgeline-withheld-{process}-{place}"));
        fs::create_dir_all(path.join("own")).unwrap();
        fs::create_dir_all(path.join("root/sub")).unwrap();
        fs::write(path.join("root/plain.txt"), "plain").unwrap();
        for name in OWN {
            fs::write(path.join("own").join(name), SECRET).unwrap();
        }
        Self(path)
    }

    fn own(&self) -> Vec<PathBuf> {
        OWN.iter().map(|name| self.0.join("own").join(name)).collect()
    }

    /// Returns the files below the root that have the secret and are none of the program's own.
    fn leaked(&self) -> Vec<PathBuf> {
        let own: Vec<_> = self.own().iter().map(|file| fs::metadata(file).unwrap().ino()).collect();
        let (mut folders, mut leaked) = (vec![self.0.join("root")], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let found = path.symlink_metadata().unwrap();
                if found.is_dir() {
                    folders.push(path);
                } else if found.is_file() && !own.contains(&found.ino()) {
                    let has_it =
                        String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(SECRET);
                    leaked.extend(has_it.then_some(path));
                }
            }
        }
        leaked
    }
}

impl Drop for ProgramFolder {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.0);
    }
}

/// A link from the root to a file of the program.
#[derive(Debug, Clone, Copy)]
enum LinkToOwnFile {
    HardLink,
    Link,
    /// A link to the folder of the files.
    FolderLink,
    /// A link to a hard link below the root.
    LinkToHardLink,
}

impl LinkToOwnFile {
    /// Makes the link at a path below the root; returns the names under which a call may try it.
    fn set(self, place: &ProgramFolder, own: &str, at: &str) -> Vec<String> {
        let (file, path) = (place.0.join("own").join(own), place.0.join("root").join(at));
        match self {
            Self::HardLink => fs::hard_link(file, path).unwrap(),
            Self::Link => symlink(file, path).unwrap(),
            Self::FolderLink => {
                symlink(place.0.join("own"), path).unwrap();
                return vec![format!("{at}/{own}"), format!("{at}/../own/{own}")];
            }
            Self::LinkToHardLink => {
                fs::hard_link(file, place.0.join("root/hard")).unwrap();
                symlink(place.0.join("root/hard"), path).unwrap();
            }
        }
        vec![at.to_owned()]
    }
}

/// A name as a model may spell it to get around a check.
fn spelled(name: &str, spelling: usize) -> String {
    match spelling {
        0 => name.to_owned(),
        1 => format!("./{name}"),
        2 => format!("{name}/"),
        3 => format!("{name}/."),
        4 => format!("{name}."),
        5 => format!("{name} "),
        6 => name.replace('/', "//"),
        7 => format!("sub/../{name}"),
        8 => name.to_uppercase(),
        9 => name.replace('/', "\\"),
        10 => name.replace("..", "%2e%2e"),
        11 => name.replace('.', "\u{ff0e}"),
        12 => name.replace('é', "e\u{301}"),
        13 => format!("{name}\0.txt"),
        14 => format!("file://{name}"),
        _ => format!("root/../{name}"),
    }
}

/// The calls that could show or change the file of this name.
fn calls(name: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("files.read", json!({ "path": name })),
        ("files.list", json!({ "path": name })),
        ("files.search", json!({ "path": name, "query": "digest" })),
        ("files.search", json!({ "query": "digest" })),
        ("files.write", json!({ "path": name, "content": "mine" })),
        ("files.edit", json!({ "path": name, "old": "digest", "new": "mine" })),
        ("files.copy", json!({ "from": name, "to": "copy.txt" })),
        ("files.copy", json!({ "from": "plain.txt", "to": name, "overwrite": true })),
        ("files.move", json!({ "from": "plain.txt", "to": name, "overwrite": true })),
        ("files.move", json!({ "from": name, "to": "moved.txt" })),
        ("files.remove", json!({ "path": name })),
    ]
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Makes all calls of a name by the tools of a root; returns what they showed.
fn shown(
    root: &Path,
    place: &ProgramFolder,
    name: &str,
    (changes, shows_hidden): (bool, bool),
) -> String {
    let Ok(tools) = FileTools::new(root).unwrap().show_hidden(shows_hidden).withhold(place.own())
    else {
        return String::new();
    };
    let tools = if changes { tools.into_changing_tools() } else { tools.into_tools() };
    let mut shown = String::new();
    runtime().block_on(async {
        for (called, arguments) in calls(name) {
            let Some(tool) = tools.iter().find(|tool| tool.name() == called) else { continue };
            let preview = tool.preview(ToolContext::default(), arguments.clone().into()).await;
            let made = tool.execute(ToolContext::default(), arguments.into()).await;
            let made = made.map_or_else(|error| error.to_string(), |output| output.content);
            writeln!(shown, "{called}: {preview:?} {made}").unwrap();
        }
    });
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    // Rows: N-60
    #[test]
    fn no_name_link_or_root_reaches_a_file_of_the_program(
        trap in prop::sample::select(vec![LinkToOwnFile::HardLink, LinkToOwnFile::Link, LinkToOwnFile::FolderLink, LinkToOwnFile::LinkToHardLink]),
        own in prop::sample::select(OWN.to_vec()),
        at in prop::sample::select(vec!["t.txt", "sub/t.txt", ".t", "sub/é.txt", "T.PEM"]),
        spelling in 0..16_usize,
        root in prop::sample::select(vec!["root", "root/sub", "root/sub/..", ".", "own", "to-root", "to-own"]),
        rights in any::<(bool, bool)>(),
    ) {
        let place = ProgramFolder::new();
        symlink(place.0.join("root"), place.0.join("to-root")).unwrap();
        symlink(place.0.join("own"), place.0.join("to-own")).unwrap();
        let mut names = trap.set(&place, own, at);
        names.extend(at.strip_prefix("sub/").map(str::to_owned));
        names.extend([own.to_owned(), format!("own/{own}"), format!("../own/{own}"), format!("../../own/{own}")]);
        names.push(place.0.join("own").join(own).display().to_string());
        for name in names {
            let name = spelled(&name, spelling);
            let shown = shown(&place.0.join(root), &place, &name, rights);
            prop_assert!(!shown.contains(SECRET), "{name:?} in {root}: {shown}");
        }
        for file in place.own() {
            let text = fs::read_to_string(&file).unwrap_or_default();
            prop_assert_eq!(text, SECRET, "{}", file.display());
        }
        prop_assert_eq!(place.leaked(), Vec::<PathBuf>::new());
    }
}
