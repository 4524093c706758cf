//! Changes that a person makes between the steps of a call: it is shown, granted, executed.

use std::{collections::BTreeMap, fs, path::Path, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    run::{RunContext, SharedState},
    tools::{CallPlace, FileTools, Tool, ToolContext},
};

/// The files and folders below a root: folders have no bytes.
type World = BTreeMap<String, Option<Vec<u8>>>;

struct Root(PathBuf);

impl Root {
    fn new(name: &str) -> Self {
        let name = format!("forgeline-shown-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let root = Self(path);
        root.fill();
        root
    }

    /// Makes it as it was at first.
    fn fill(&self) {
        fs::create_dir_all(&self.0).unwrap();
        for entry in fs::read_dir(&self.0).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        for (name, text) in
            [("a.txt", "a\n"), ("b.txt", "b\n"), ("dir/x.txt", "x\n"), ("dir/in/y.txt", "y\n")]
        {
            put(&self.0, name, text);
        }
    }

    fn world(&self) -> World {
        let (mut world, mut folders) = (World::new(), vec![self.0.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let is_folder = entry.file_type().unwrap().is_dir();
                let name = path.strip_prefix(&self.0).unwrap().display().to_string();
                world.insert(name, (!is_folder).then(|| fs::read(&path).unwrap()));
                folders.extend(is_folder.then_some(path));
            }
        }
        world
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        FileTools::new(&self.0).unwrap().into_changing_tools()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The context of a call in a run.
fn in_run() -> ToolContext {
    let place = CallPlace { run_id: "run".into(), ..CallPlace::default() };
    let (events, _) = mpsc::channel(1);
    ToolContext::new(
        place,
        CancellationToken::new(),
        events,
        SharedState::default(),
        RunContext::default(),
    )
}

fn find<'t>(tools: &'t [Arc<dyn Tool>], name: &str) -> &'t Arc<dyn Tool> {
    tools.iter().find(|tool| tool.name() == name).unwrap()
}

/// All changes, with the paths that they depend on.
fn operations() -> Vec<(&'static str, Value, &'static [&'static str])> {
    #[rustfmt::skip]
    let operations: Vec<(&str, Value, &[&str])> = vec![
        ("files.write",  json!({ "path": "a.txt", "content": "new\n" }),               &["a.txt"]),
        ("files.write",  json!({ "path": "new.txt", "content": "new\n" }),             &["new.txt"]),
        ("files.write",  json!({ "path": "far/new.txt", "content": "new\n" }),         &["far/new.txt"]),
        ("files.edit",   json!({ "path": "a.txt", "old": "a", "new": "new" }),         &["a.txt"]),
        ("files.copy",   json!({ "from": "a.txt", "to": "new.txt" }),                  &["a.txt", "new.txt"]),
        ("files.copy",   json!({ "from": "a.txt", "to": "b.txt", "overwrite": true }), &["a.txt", "b.txt"]),
        ("files.move",   json!({ "from": "a.txt", "to": "new.txt" }),                  &["a.txt", "new.txt"]),
        ("files.move",   json!({ "from": "dir", "to": "moved" }),                      &["dir", "moved"]),
        ("files.remove", json!({ "path": "a.txt" }),                                   &["a.txt"]),
        ("files.remove", json!({ "path": "dir", "recursive": true }),                  &["dir"]),
    ];
    operations
}

/// A change that a person makes meanwhile.
type Deed = (&'static str, fn(&Path));

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const DEEDS: &[Deed] = &[
    ("nothing", |_| {}),
    ("edits", |root| put(root, "a.txt", "a and mine\n")),
    ("edits, equally long", |root| put(root, "a.txt", "a!")),
    ("saves unchanged", |root| put(root, "a.txt", "a\n")),
    ("removes", |root| fs::remove_file(root.join("a.txt")).unwrap()),
    ("edits another", |root| put(root, "b.txt", "B\n")),
    ("creates the target", |root| put(root, "new.txt", "mine\n")),
    ("creates the target further down", |root| put(root, "far/new.txt", "mine\n")),
    ("creates the folder of the target", |root| fs::create_dir(root.join("far")).unwrap()),
    ("makes the target a folder", |root| fs::create_dir(root.join("new.txt")).unwrap()),
    ("takes the name that a folder will have", |root| put(root, "moved/mine.txt", "mine\n")),
    ("adds to the folder", |root| put(root, "dir/mine.txt", "mine\n")),
    ("adds deep in the folder", |root| put(root, "dir/in/mine.txt", "mine\n")),
    ("edits in the folder", |root| put(root, "dir/in/y.txt", "Y\n")),
    ("removes in the folder", |root| fs::remove_file(root.join("dir/x.txt")).unwrap()),
    ("renames in the folder", |root| {
        fs::rename(root.join("dir/x.txt"), root.join("dir/z.txt")).unwrap();
    }),
    ("adds an empty folder", |root| fs::create_dir(root.join("dir/empty")).unwrap()),
    ("replaces the folder by a file", |root| {
        fs::remove_dir_all(root.join("dir")).unwrap();
        put(root, "dir", "mine\n");
    }),
];

/// The part of a world at these paths.
fn part(world: &World, paths: &[&str]) -> World {
    let is_in = |name: &str| {
        paths.iter().any(|path| {
            name == *path || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    world
        .iter()
        .filter(|(name, _)| is_in(name))
        .map(|(it, as_is)| (it.clone(), as_is.clone()))
        .collect()
}

// Rows: N-40
/// Whatever a person does between the steps, a call does what was shown, or nothing.
#[tokio::test]
async fn n40_a_granted_change_is_what_was_shown_or_nothing() {
    let (mut made, mut refused) = (0, 0);
    for (name, arguments, paths) in operations() {
        for (deed, does) in DEEDS {
            for moment in
                ["before it is shown", "before it is granted", "and undoes before it is executed"]
            {
                let root = Root::new("all");
                let tools = root.tools();
                let tool = find(&tools, name);
                let at = format!("{name} {arguments}: a person {deed} ({moment})");
                if moment == "before it is shown" {
                    does(&root.0);
                }
                let shown_world = root.world();
                let preview = tool.preview(in_run(), arguments.clone().into()).await;
                assert_eq!(root.world(), shown_world, "{at}");
                let Ok(Some(preview)) = preview else {
                    assert_eq!(
                        moment, "before it is shown",
                        "{at}: what cannot be done is not shown"
                    );
                    continue;
                };
                if moment != "before it is shown" {
                    does(&root.0);
                }
                if moment == "and undoes before it is executed" {
                    root.fill();
                }
                let before = root.world();
                let context = in_run().approved_as(preview.digest);
                let done = tool.execute(context, arguments.clone().into()).await;
                let is_same = part(&before, paths) == part(&shown_world, paths);
                if is_same {
                    made += 1;
                    assert!(done.is_ok(), "{at}: {done:?}");
                    assert_ne!(root.world(), before, "{at}: it is done");
                    let untouched = |world: &World| {
                        let mut world = world.clone();
                        let touched = part(&world, paths);
                        world.retain(|name, _| !touched.contains_key(name) && name != "far");
                        world
                    };
                    assert_eq!(untouched(&root.world()), untouched(&before), "{at}: and no more");
                } else {
                    refused += 1;
                    let error = done.unwrap_err();
                    assert!(error.is_retryable(), "{at}: {error}");
                    assert!(
                        error.to_string().contains("after this call was shown"),
                        "{at}: {error}"
                    );
                    assert_eq!(root.world(), before, "{at}: nothing is done");
                }
            }
        }
    }
    assert!(made > 100 && refused > 30, "{made} made, {refused} refused");
}

// Rows: N-40
/// No one is asked: what a person has changed since the conversation read it is not lost.
#[tokio::test]
async fn n40_what_changed_since_it_was_read_is_not_lost_unasked() {
    #[rustfmt::skip]
    let cases = [
        ("files.write",  json!({ "path": "a.txt", "content": "new\n" }),               "a.txt",        true),
        ("files.write",  json!({ "path": "./a.txt", "content": "new\n" }),             "a.txt",        true),
        ("files.copy",   json!({ "from": "b.txt", "to": "a.txt", "overwrite": true }), "a.txt",        true),
        ("files.copy",   json!({ "from": "a.txt", "to": "new.txt" }),                  "a.txt",        false),
        ("files.remove", json!({ "path": "a.txt" }),                                   "a.txt",        true),
        ("files.remove", json!({ "path": "dir", "recursive": true }),                  "dir/in/y.txt", true),
        ("files.move",   json!({ "from": "dir", "to": "moved" }),                      "dir/in/y.txt", false),
        ("files.edit",   json!({ "path": "a.txt", "old": "a", "new": "new" }),         "a.txt",        false),
        ("files.write",  json!({ "path": "b.txt", "content": "new\n" }),               "a.txt",        false),
    ];
    for (name, arguments, path, is_lost) in cases {
        for (reads, changes) in [(true, true), (true, false), (false, true)] {
            let root = Root::new("unasked");
            let tools = root.tools();
            let at = format!("{name} {arguments}, read {reads}, changed {changes}");
            if reads {
                let read = json!({ "path": path }).into();
                find(&tools, "files.read").execute(in_run(), read).await.unwrap();
            }
            if changes {
                fs::write(root.0.join(path), "mine too\na\n").unwrap();
            }
            let before = root.world();
            let tool = find(&tools, name);
            let shown = tool.preview(in_run(), arguments.clone().into()).await;
            let done = tool.execute(in_run(), arguments.clone().into()).await;
            if reads && changes && is_lost {
                let error = done.unwrap_err().to_string();
                assert!(error.contains("changed since it was read"), "{at}: {error}");
                assert_eq!(shown.unwrap_err().to_string(), error, "{at}");
                assert_eq!(root.world(), before, "{at}");
                // Once it is read again, it may be done.
                let read = json!({ "path": path }).into();
                find(&tools, "files.read").execute(in_run(), read).await.unwrap();
                tool.execute(in_run(), arguments.clone().into()).await.unwrap();
            } else {
                assert!(shown.is_ok() && done.is_ok(), "{at}: {done:?}");
            }
            assert_ne!(root.world(), before, "{at}");
        }
    }
}

// Rows: N-40
#[tokio::test]
async fn n40_overwriting_what_was_never_read_says_so() {
    let own = |arguments: Value| ("files.write", arguments);
    #[rustfmt::skip]
    let cases = [
        (None,          own(json!({ "path": "a.txt", "content": "n" })),                          true),
        (Some("b.txt"), own(json!({ "path": "a.txt", "content": "n" })),                          true),
        (Some("a.txt"), own(json!({ "path": "a.txt", "content": "n" })),                          false),
        (None,          own(json!({ "path": "new.txt", "content": "n" })),                        false),
        (None,          ("files.copy", json!({ "from": "b.txt", "to": "a.txt", "overwrite": true })), true),
        (Some("a.txt"), ("files.copy", json!({ "from": "b.txt", "to": "a.txt", "overwrite": true })), false),
        (None,          ("files.copy", json!({ "from": "b.txt", "to": "c.txt", "overwrite": true })), false),
    ];
    for (read, (name, arguments), says) in cases {
        let root = Root::new("unread");
        let tools = root.tools();
        if let Some(path) = read {
            let path = json!({ "path": path }).into();
            find(&tools, "files.read").execute(in_run(), path).await.unwrap();
        }
        let tool = find(&tools, name);
        let shown = tool.preview(in_run(), arguments.clone().into()).await.unwrap().unwrap();
        let done = tool.execute(in_run(), arguments.clone().into()).await.unwrap().content;
        assert_eq!(shown.text.contains("was not read before"), says, "{arguments}: {shown:?}");
        assert_eq!(done.contains("that was not read"), says, "{arguments}: {done}");
        if name == "files.write" {
            // What it wrote itself, it knows.
            let again = tool.execute(in_run(), arguments.clone().into()).await.unwrap().content;
            assert!(!again.contains("not read"), "{again}");
        }
    }
}
