//! The tools that change files: what they do, what they show before, and what they refuse.

use std::{fs, path::PathBuf, sync::Arc};

use serde_json::{Value, json};

use crate::tools::{FileTools, Tool, ToolContext, ToolError};

/// The name of a case, the file before it, the call, the file after it or its error, and words of the result.
type FormCase<'a> = (&'a str, Vec<u8>, (&'a str, Value), Result<Vec<u8>, &'a str>, &'a str);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("forgeline-changes-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("root/sub")).unwrap();
        fs::create_dir_all(path.join("outside")).unwrap();
        fs::write(path.join("outside/c.txt"), "outside").unwrap();
        fs::write(path.join("root/a.txt"), "one\ntwo\nthree\ntwo\n").unwrap();
        fs::write(path.join("root/sub/c.txt"), "c\n").unwrap();
        fs::write(path.join("root/.env"), "KEY=1").unwrap();
        fs::write(path.join("root/b.bin"), b"\xff\0").unwrap();
        Self(path)
    }

    fn tools(&self, shows_hidden: bool) -> FileTools {
        FileTools::new(self.0.join("root")).unwrap().show_hidden(shows_hidden)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        self.call_with(false, name, arguments).await
    }

    async fn call_with(
        &self,
        shows_hidden: bool,
        name: &str,
        arguments: Value,
    ) -> Result<String, ToolError> {
        let tools = self.tools(shows_hidden).into_changing_tools();
        let tool: &Arc<dyn Tool> = tools.iter().find(|tool| tool.name() == name).unwrap();
        let output = tool.execute(ToolContext::default(), arguments.into()).await?;
        Ok(output.content)
    }

    async fn preview(&self, name: &str, arguments: Value) -> Result<String, String> {
        let tools = self.tools(false).into_changing_tools();
        let tool: &Arc<dyn Tool> = tools.iter().find(|tool| tool.name() == name).unwrap();
        let preview = tool.preview(ToolContext::default(), arguments.into()).await;
        preview.map(|preview| preview.unwrap().text).map_err(|error| error.to_string())
    }

    /// All files with their text, those outside too.
    fn all(&self) -> Vec<(String, Vec<u8>)> {
        let (mut files, mut folders) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    let name = entry.path().strip_prefix(&self.0).unwrap().display().to_string();
                    files.push((name, fs::read(entry.path()).unwrap_or_default()));
                }
            }
        }
        files.sort();
        files
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.0.join("root").join(path)).ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left over in the temporary folder harms no other test.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_change_is_shown_first_and_then_made() {
    #[rustfmt::skip]
    let cases = [
        ("files.write",  json!({ "path": "new/d.txt", "content": "x\n" }), "--- /dev/null\n+++ b/new/d.txt\n@@ -0,0 +1 @@\n+x\n", "wrote 2 bytes to `new/d.txt`", ("new/d.txt", Some("x\n"))),
        ("files.write",  json!({ "path": "sub/c.txt", "content": "d\n" }), "--- a/sub/c.txt\n+++ b/sub/c.txt\n@@ -1 +1 @@\n-c\n+d\n", "wrote 2 bytes to `sub/c.txt`", ("sub/c.txt", Some("d\n"))),
        ("files.write",  json!({ "path": "sub/c.txt", "content": "c\n" }), "changes nothing in `sub/c.txt`", "wrote 2 bytes to `sub/c.txt`", ("sub/c.txt", Some("c\n"))),
        ("files.write",  json!({ "path": "b.bin", "content": "t" }), "replaces `b.bin`, 2 bytes that are not shown, by 1 bytes", "wrote 1 bytes to `b.bin`", ("b.bin", Some("t"))),
        ("files.edit",   json!({ "path": "a.txt", "old": "one\n", "new": "1\n" }), "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-one\n+1\n two\n three\n two\n", "replaced 1 place of `a.txt`", ("a.txt", Some("1\ntwo\nthree\ntwo\n"))),
        ("files.edit",   json!({ "path": "a.txt", "old": "two", "new": "2", "count": 2 }), "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n-two\n+2\n", "replaced 2 places of `a.txt`", ("a.txt", Some("one\n2\nthree\n2\n"))),
        ("files.copy",   json!({ "from": "sub/c.txt", "to": "new/c.txt" }), "copies `sub/c.txt` (2 bytes) to `new/c.txt`", "copied 2 bytes to `new/c.txt`", ("new/c.txt", Some("c\n"))),
        ("files.copy",   json!({ "from": "sub/c.txt", "to": "a.txt", "overwrite": true }), "copies `sub/c.txt` (2 bytes) to `a.txt`, replacing the existing file", "copied 2 bytes to `a.txt`", ("a.txt", Some("c\n"))),
        ("files.move",   json!({ "from": "sub", "to": "new/sub" }), "moves the folder `sub` to `new/sub`:\nsub/c.txt (2 bytes)\n", "moved `sub` to `new/sub`", ("new/sub/c.txt", Some("c\n"))),
        ("files.move",   json!({ "from": "a.txt", "to": "b.txt" }), "moves `a.txt` (18 bytes) to `b.txt`", "moved `a.txt` to `b.txt`", ("a.txt", None)),
        ("files.remove", json!({ "path": "a.txt" }), "removes `a.txt` (18 bytes)", "removed `a.txt`", ("a.txt", None)),
        ("files.remove", json!({ "path": "sub", "recursive": true }), "removes the folder `sub`:\nsub/c.txt (2 bytes)\n", "removed `sub`", ("sub/c.txt", None)),
    ];
    for (name, arguments, preview, done, (path, text)) in cases {
        let folder = Folder::new("made");
        let before = folder.all();
        assert_eq!(
            folder.preview(name, arguments.clone()).await.as_deref(),
            Ok(preview),
            "{arguments}"
        );
        assert_eq!(folder.all(), before, "{arguments}: a preview changes nothing");
        assert_eq!(folder.call(name, arguments.clone()).await.as_deref(), Ok(done), "{arguments}");
        assert_eq!(folder.text(path).as_deref(), text, "{arguments}");
        let left = folder.all().into_iter().filter(|(name, _)| name.contains(".forgeline-"));
        assert_eq!(left.count(), 0, "{arguments}: nothing is left over");
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_before_and_when_it_is_tried() {
    let folder = Folder::new("refused");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside/c.txt", folder.0.join("root/link.txt")).unwrap();
        std::os::unix::fs::symlink("../outside", folder.0.join("root/up")).unwrap();
    }
    let absolute = folder.0.join("outside/c.txt").display().to_string();
    #[rustfmt::skip]
    let mut cases = vec![
        ("files.write",  json!({ "path": "../outside/c.txt", "content": "x" }),      "must not contain `..`"),
        ("files.write",  json!({ "path": absolute, "content": "x" }),                "must be relative to the root"),
        ("files.write",  json!({ "path": ".", "content": "x" }),                     "the root itself cannot be changed"),
        ("files.write",  json!({ "path": "sub", "content": "x" }),                   "is a folder"),
        ("files.write",  json!({ "path": ".env", "content": "x" }),                  "is hidden or may contain keys"),
        ("files.write",  json!({ "path": "new/id_rsa", "content": "x" }),            "is hidden or may contain keys"),
        ("files.edit",   json!({ "path": ".env", "old": "K", "new": "x" }),          "is hidden or may contain keys"),
        ("files.edit",   json!({ "path": "a.txt", "old": "two", "new": "x" }),       "occurs 2 times in the file, not 1"),
        ("files.edit",   json!({ "path": "a.txt", "old": "four", "new": "x" }),      "does not occur in the file"),
        ("files.edit",   json!({ "path": "a.txt", "old": "", "new": "x" }),          "must not be empty"),
        ("files.edit",   json!({ "path": "b.bin", "old": "x", "new": "y" }),         "not text in UTF-8"),
        ("files.edit",   json!({ "path": "none", "old": "x", "new": "y" }),          "cannot be opened"),
        ("files.copy",   json!({ "from": "a.txt", "to": "sub/c.txt" }),              "already exists"),
        ("files.copy",   json!({ "from": ".env", "to": "shown.txt" }),               "is hidden or may contain keys"),
        ("files.copy",   json!({ "from": "a.txt", "to": "../outside/c.txt", "overwrite": true }), "must not contain `..`"),
        ("files.copy",   json!({ "from": "sub", "to": "new" }),                      "is a folder"),
        ("files.move",   json!({ "from": ".env", "to": "shown.txt" }),               "is hidden or may contain keys"),
        ("files.move",   json!({ "from": "a.txt", "to": "sub/c.txt" }),              "already exists"),
        ("files.move",   json!({ "from": "a.txt", "to": "../outside/a.txt" }),       "must not contain `..`"),
        ("files.move",   json!({ "from": "none", "to": "new" }),                     "does not exist"),
        ("files.remove", json!({ "path": "sub" }),                                   "must be true to remove a folder"),
        ("files.remove", json!({ "path": "none" }),                                  "does not exist"),
        ("files.remove", json!({ "path": ".env" }),                                  "is hidden or may contain keys"),
        ("files.remove", json!({ "path": "../outside", "recursive": true }),         "must not contain `..`"),
    ];
    if cfg!(unix) {
        #[rustfmt::skip]
        cases.extend([
            ("files.write",  json!({ "path": "link.txt", "content": "x" }),          "is a link"),
            ("files.write",  json!({ "path": "up/c.txt", "content": "x" }),          "cannot be opened"),
            ("files.edit",   json!({ "path": "link.txt", "old": "o", "new": "x" }),  "is a link"),
            ("files.copy",   json!({ "from": "link.txt", "to": "copy.txt" }),        "is a link"),
            ("files.move",   json!({ "from": "link.txt", "to": "moved.txt" }),       "is a link"),
            ("files.move",   json!({ "from": "a.txt", "to": "up/a.txt" }),           "cannot be opened"),
            ("files.remove", json!({ "path": "up", "recursive": true }),             "is a link"),
        ]);
    }
    let before = folder.all();
    for (name, arguments, want) in cases {
        let shown = folder.preview(name, arguments.clone()).await.unwrap_err();
        let made = folder.call(name, arguments.clone()).await.unwrap_err().to_string();
        for error in [shown, made] {
            assert!(error.contains(want), "{name} {arguments}: {error}");
        }
    }
    assert_eq!(folder.all(), before);
}

#[tokio::test]
async fn secret_files_are_changed_only_when_they_are_shown() {
    let folder = Folder::new("secret");
    fs::write(folder.0.join("root/sub/server.pem"), "key").unwrap();
    for (name, arguments) in [
        ("files.move", json!({ "from": "sub", "to": "other" })),
        ("files.remove", json!({ "path": "sub", "recursive": true })),
    ] {
        for error in [
            folder.preview(name, arguments.clone()).await.unwrap_err(),
            folder.call(name, arguments).await.unwrap_err().to_string(),
        ] {
            assert!(error.contains("contains hidden files or keys"), "{error}");
        }
    }
    let copy = json!({ "from": ".env", "to": "sub/.env" });
    folder.call_with(true, "files.copy", copy).await.unwrap();
    folder
        .call_with(true, "files.write", json!({ "path": ".env", "content": "KEY=2" }))
        .await
        .unwrap();
    assert_eq!(folder.text(".env").as_deref(), Some("KEY=2"));
    folder
        .call_with(true, "files.remove", json!({ "path": "sub", "recursive": true }))
        .await
        .unwrap();
    assert_eq!(folder.text("sub/server.pem"), None);
}

/// A folder on the way turns into a link to another one and back, all the time.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_in_lets_no_change_out_of_the_root() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let folder = Folder::new("race");
    let root = folder.0.join("root");
    let is_over = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (root, is_over) = (root.clone(), Arc::clone(&is_over));
        move || {
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(root.join("sub"), root.join("aside")).ok();
                std::os::unix::fs::symlink("../outside", root.join("sub")).ok();
                fs::remove_file(root.join("sub")).ok();
                while fs::rename(root.join("aside"), root.join("sub")).is_err() {
                    // A change has made the folder anew.
                    fs::remove_dir_all(root.join("sub")).ok();
                }
                swaps += 1;
            }
            swaps
        }
    });
    let mut made = [0; 4];
    for at in 0..1_000 {
        let name = format!("sub/w-{at}.txt");
        let calls = [
            ("files.write", json!({ "path": "sub/c.txt", "content": "w" })),
            ("files.copy", json!({ "from": "a.txt", "to": name })),
            ("files.move", json!({ "from": name, "to": "sub/m.txt" })),
            ("files.remove", json!({ "path": "sub/m.txt" })),
        ];
        for (made, (name, arguments)) in made.iter_mut().zip(calls) {
            *made += usize::from(folder.call(name, arguments).await.is_ok());
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert!(swaps > 0 && made.iter().all(|made| *made > 0), "{swaps} swaps, {made:?}");
    let outside: Vec<_> = fs::read_dir(folder.0.join("outside")).unwrap().flatten().collect();
    assert_eq!(outside.len(), 1, "{outside:?}");
    assert_eq!(fs::read_to_string(folder.0.join("outside/c.txt")).unwrap(), "outside");
}

#[tokio::test]
async fn large_files_and_long_previews_have_limits() {
    let folder = Folder::new("large");
    let text = "a line\n".repeat(20_000);
    let shown = folder
        .preview("files.write", json!({ "path": "long.txt", "content": &text }))
        .await
        .unwrap();
    assert!(shown.len() < (64 << 10) + 100, "{}", shown.len());
    let last = shown.lines().last().unwrap();
    assert!(
        last.starts_with("… and ") && last.ends_with(" more lines that are not shown"),
        "{last}"
    );
    // A line that is cut is shown.
    let bounded = super::diff::bounded(text);
    let (shown, note) = bounded.split_at(bounded.find('…').unwrap());
    let more = format!("… and {} more lines that", 20_000 - shown.lines().count());
    assert!(note.starts_with(&more), "{note}");
    let over = "x".repeat((8 << 20) + 1);
    fs::write(folder.0.join("root/over.txt"), &over).unwrap();
    for (name, arguments) in [
        ("files.copy", json!({ "from": "over.txt", "to": "copy.txt" })),
        ("files.edit", json!({ "path": "over.txt", "old": "x", "new": "y" })),
    ] {
        let error = folder.call(name, arguments).await.unwrap_err().to_string();
        assert!(error.contains("larger than 8388608 bytes"), "{error}");
    }
    // One byte less is copied and written.
    let full = over.split_at(1).1;
    fs::write(folder.0.join("root/full.txt"), full).unwrap();
    for (name, arguments) in [
        ("files.copy", json!({ "from": "full.txt", "to": "copy.txt" })),
        ("files.write", json!({ "path": "new.txt", "content": full })),
    ] {
        folder.call(name, arguments).await.unwrap();
    }
    assert_eq!(
        (folder.text("copy.txt").as_deref(), folder.text("new.txt").as_deref()),
        (Some(full), Some(full))
    );
    let error = folder.call("files.write", json!({ "path": "w.txt", "content": over })).await;
    assert!(error.is_err());
    assert_eq!(folder.text("w.txt"), None, "whole or not at all");
    let left = folder.all().into_iter().filter(|(name, _)| name.contains(".forgeline-"));
    assert_eq!(left.count(), 0);
}

// Rows: N-41
#[tokio::test]
async fn n41_the_form_of_a_text_is_kept() {
    let bom = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let wide = |text: &str, unit: fn(u16) -> [u8; 2]| {
        format!("\u{feff}{text}").encode_utf16().flat_map(unit).collect::<Vec<u8>>()
    };
    let (le, be) = (u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes as fn(u16) -> [u8; 2]);
    let edit =
        |old: &str, new: &str| ("files.edit", json!({ "path": "t", "old": old, "new": new }));
    let write = |content: &str| ("files.write", json!({ "path": "t", "content": content }));
    let latin = b"caf\xe9 \x93x\x94\n".to_vec();
    #[rustfmt::skip]
    let cases: Vec<FormCase<'_>> = vec![
        ("LF text in a CRLF file",     b"a\r\nb\r\nc\r\n".to_vec(), edit("a\nb\n", "a\nx\nb\n"),  Ok(b"a\r\nx\r\nb\r\nc\r\n".to_vec()), "kept: CRLF line ends"),
        ("a line more",                b"a\r\nb\r\n".to_vec(),      edit("b", "b\nc"),            Ok(b"a\r\nb\r\nc\r\n".to_vec()),      "CRLF"),
        ("a line less",                b"a\r\nb\r\nc".to_vec(),     edit("\nb\n", "\n"),          Ok(b"a\r\nc".to_vec()),               "CRLF"),
        ("CRLF text in an LF file",    b"a\nb\nc\n".to_vec(),       edit("a\r\nb", "x\r\nb"),     Ok(b"x\nb\nc\n".to_vec()),            "kept: LF line ends"),
        ("mixed, CRLF at the place",   b"a\r\nb\nc\n".to_vec(),     edit("a\nb", "x\nb"),         Ok(b"x\r\nb\nc\n".to_vec()),          ""),
        ("mixed, both at the place",   b"a\r\nb\nc\r\n".to_vec(),   edit("a\nb\nc", "x\ny\nz"),   Ok(b"x\r\ny\nz\r\n".to_vec()),        ""),
        ("a lone CR is a character",   b"a\rb\r\n".to_vec(),        edit("a\rb", "c\rd"),         Ok(b"c\rd\r\n".to_vec()),             "CRLF"),
        ("no line end at all",         b"ab".to_vec(),              edit("b", "c\nd"),            Ok(b"ac\nd".to_vec()),                ""),
        ("line ends alone",            b"a\r\nb\r\n".to_vec(),      edit("a\r\nb", "a\nb"),       Err("line ends only"),                ""),
        ("BOM, edited",                bom("a\r\nb\r\n"),           edit("a\nb", "c\nb"),         Ok(bom("c\r\nb\r\n")),                "UTF-8 with a BOM, CRLF line ends"),
        ("UTF-16LE, edited",           wide("é\r\nb\r\n", le),      edit("é\nb", "ü\nb"),         Ok(wide("ü\r\nb\r\n", le)),           "UTF-16LE with a BOM"),
        ("UTF-16BE, written",          wide("a\n", be),             write("→ 𝒳\n"),               Ok(wide("→ 𝒳\n", be)),                "UTF-16BE with a BOM"),
        ("Windows-1252, edited",       latin.clone(),               edit("café", "thé"),          Ok(b"th\xe9 \x93x\x94\n".to_vec()),   "Windows-1252"),
        ("Windows-1252, written",      latin.clone(),               write("“é”\n"),               Ok(b"\x93\xe9\x94\n".to_vec()),       "Windows-1252"),
        ("what it does not have",      latin.clone(),               edit("café", "→"),            Err("Windows-1252, which has no '→'"), ""),
        ("what it does not have, written", latin,                   write("日"),                  Err("nothing was done"),              ""),
        ("damaged UTF-8",              b"\xc3\xa9 \xff\n".to_vec(), edit("\n", "x"),              Err("not text in UTF-8"),             ""),
        ("CRLF, written",              b"a\r\nb\r\n".to_vec(),      write("a\nc\n"),              Ok(b"a\r\nc\r\n".to_vec()),           "kept: CRLF line ends"),
        ("BOM, written",               bom("a\n"),                  write("\u{feff}b\n"),         Ok(bom("b\n")),                       "kept: UTF-8 with a BOM"),
        ("mixed, written",             b"a\r\nb\n".to_vec(),        write("c\n"),                 Ok(b"c\n".to_vec()),                  "were mixed, and are now as given"),
        ("CRLF, as given",             b"a\nb\n".to_vec(),          write("a\r\n"),               Ok(b"a\n".to_vec()),                  "kept: LF line ends"),
    ];
    for (what, before, (name, arguments), want, words) in cases {
        let folder = Folder::new("form");
        let path = folder.0.join("root/t");
        fs::write(&path, &before).unwrap();
        let shown = folder.preview(name, arguments.clone()).await;
        let made = folder.call(name, arguments).await.map_err(|error| error.to_string());
        match want {
            Ok(after) => {
                assert_eq!(fs::read(&path).unwrap(), after, "{what}: {made:?}");
                assert!(shown.is_ok() && made.unwrap().contains(words), "{what}: {words}");
            }
            Err(problem) => {
                assert_eq!(fs::read(&path).unwrap(), before, "{what}");
                let (shown, made) = (shown.unwrap_err(), made.unwrap_err());
                assert!(shown.contains(problem) && made.contains(problem), "{what}: {made}");
            }
        }
    }
}
