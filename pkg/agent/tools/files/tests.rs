//! The file tools: what they give, and what they refuse.

use std::{fs, path::PathBuf, sync::Arc};

use serde_json::{Value, json};

use super::FileTools;
use crate::tools::{Tool, ToolContext, ToolError};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("forgeline-files-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("root/sub")).unwrap();
        fs::write(path.join("secret.txt"), "secret").unwrap();
        fs::write(path.join("root/b.txt"), "one\ntwo\nthree\nTWO\n").unwrap();
        fs::write(path.join("root/a.bin"), b"\0two").unwrap();
        fs::write(path.join("root/sub/c.txt"), "two").unwrap();
        fs::write(path.join("root/.hidden"), "two").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path.join("secret.txt"), path.join("root/link.txt"))
                .unwrap();
            std::os::unix::fs::symlink(&path, path.join("root/up")).unwrap();
        }
        Self(path)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        self.call_with(false, name, arguments).await
    }

    async fn call_with(
        &self,
        hidden: bool,
        name: &str,
        arguments: Value,
    ) -> Result<String, ToolError> {
        let tools = FileTools::new(self.0.join("root")).unwrap().show_hidden(hidden);
        let tools = tools.into_tools();
        let tool: &Arc<dyn Tool> = tools.iter().find(|tool| tool.name() == name).unwrap();
        let output = tool.execute(ToolContext::default(), arguments.into()).await?;
        Ok(output.content)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left over in the temporary folder harms nobody.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn files_are_listed_read_and_searched_in_a_stable_order() {
    let folder = Folder::new("use");
    #[rustfmt::skip]
    let cases = [
        ("files.list",   json!({}),                                   "a.bin (4 bytes)\nb.txt (18 bytes)\nsub/c.txt (3 bytes)"),
        ("files.list",   json!({ "path": "sub" }),                    "sub/c.txt (3 bytes)"),
        ("files.read",   json!({ "path": "sub/../b.txt" }),           "must"),
        ("files.read",   json!({ "path": "b.txt" }),                  "b.txt: lines 1 to 4 of 4\none\ntwo\nthree\nTWO\n"),
        ("files.read",   json!({ "path": "b.txt", "offset": 2, "limit": 1 }), "b.txt: lines 2 to 2 of 4\ntwo\n"),
        ("files.search", json!({ "query": "two" }),                   "3 hits in 2 of 3 files\nb.txt:2: two\nb.txt:4: TWO\nsub/c.txt:1: two\n"),
        ("files.search", json!({ "query": "two", "case_sensitive": true, "path": "b.txt" }), "1 hits in 1 of 1 files\nb.txt:2: two\n"),
        ("files.search", json!({ "query": "two", "max_hits": 1 }),    "3 hits in 2 of 3 files\nb.txt:2: two\n… 2 hits are not shown\n"),
        ("files.search", json!({ "query": "none" }),                  "0 hits in 0 of 3 files\n"),
    ];
    for (name, arguments, want) in cases {
        match folder.call(name, arguments.clone()).await {
            Ok(got) => assert_eq!(got, want, "{name} {arguments}"),
            Err(error) => assert!(want == "must" && error.to_string().contains("must"), "{error}"),
        }
    }
}

#[tokio::test]
async fn nothing_outside_the_root_and_nothing_binary_is_read() {
    let folder = Folder::new("confine");
    let absolute = folder.0.join("secret.txt");
    let mut paths = vec!["../secret.txt", "sub/../../secret.txt", absolute.to_str().unwrap()];
    if cfg!(unix) {
        paths.extend(["link.txt", "up/secret.txt"]);
    }
    for path in paths {
        let error = folder.call("files.read", json!({ "path": path })).await.unwrap_err();
        assert!(!error.to_string().contains("secret\n"), "{path}: {error}");
        folder.call("files.list", json!({ "path": path })).await.unwrap_err();
        folder.call("files.search", json!({ "query": "s", "path": path })).await.unwrap_err();
    }
    #[rustfmt::skip]
    let cases = [
        (json!({ "path": "a.bin" }),                "binary"),
        (json!({ "path": "none.txt" }),             "cannot be opened"),
        (json!({ "path": "sub" }),                  "is not a file"),
        (json!({ "path": "b.txt", "offset": 9 }),   "the file has 4 lines"),
    ];
    for (arguments, want) in cases {
        let error = folder.call("files.read", arguments).await.unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

// Found: R1
/// A pipe: opening one waits for a writer, and a device has no end.
#[cfg(unix)]
#[tokio::test]
async fn r1_only_regular_files_are_opened() {
    let folder = Folder::new("special");
    let pipe = folder.0.join("root/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.0.join("root/socket")).unwrap();
    for path in ["pipe", "socket"] {
        for (name, arguments) in [
            ("files.read", json!({ "path": path })),
            ("files.search", json!({ "query": "x", "path": path })),
            ("files.list", json!({ "path": path })),
        ] {
            let error = folder.call(name, arguments).await.unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{name} {path}: {error}");
        }
    }
    assert!(!folder.call("files.list", json!({})).await.unwrap().contains("pipe"));
    let tools = FileTools::new("/dev").unwrap().into_tools();
    let read = tools.iter().find(|tool| tool.name() == "files.read").unwrap();
    let error = read.execute(ToolContext::default(), json!({ "path": "zero" }).into()).await;
    assert!(error.unwrap_err().to_string().contains("not a regular file"));
}

// Found: R8
#[tokio::test]
async fn r8_hidden_files_and_keys_are_shown_only_when_asked_for() {
    let folder = Folder::new("hidden");
    let names = [
        ".env",
        ".git/config",
        "sub/.ssh/id",
        "server.pem",
        "tls.KEY",
        "id_rsa",
        "sub/id_ed25519.pub",
    ];
    for name in names {
        let path = folder.0.join("root").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "password\n").unwrap();
    }
    let search = json!({ "query": "password" });
    for name in names {
        let error = folder.call("files.read", json!({ "path": name })).await.unwrap_err();
        assert!(error.to_string().contains("hidden or may contain keys"), "{name}: {error}");
        folder.call_with(true, "files.read", json!({ "path": name })).await.unwrap();
    }
    let found = folder.call("files.search", search.clone()).await.unwrap();
    assert!(found.starts_with("0 hits"), "{found}");
    let found = folder.call_with(true, "files.search", search).await.unwrap();
    assert!(found.starts_with("7 hits in 7 "), "{found}");
}

// Found: R9
/// A link that takes a file's place between a check and the opening.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r9_a_link_swapped_in_leads_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let folder = Folder::new("race");
    let root = folder.0.join("root");
    fs::create_dir_all(folder.0.join("outside")).unwrap();
    fs::write(folder.0.join("outside/c.txt"), "secret").unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (root, is_over) = (root.clone(), Arc::clone(&is_over));
        move || {
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(root.join("sub"), root.join("aside")).unwrap();
                std::os::unix::fs::symlink("../outside", root.join("sub")).unwrap();
                fs::remove_file(root.join("sub")).unwrap();
                fs::rename(root.join("aside"), root.join("sub")).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let mut read = 0;
    for _ in 0..3_000 {
        if let Ok(text) = folder.call("files.read", json!({ "path": "sub/c.txt" })).await {
            assert!(!text.contains("secret"), "{text}");
            read += 1;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert!(read > 0 && swaps > 0, "{read} reads, {swaps} swaps");
}

// Found: S20
#[tokio::test]
async fn a_file_is_read_up_to_8_mib_and_searched_up_to_2_mib() {
    let folder = Folder::new("size");
    let lines = |bytes: usize| "a needle\n".repeat(bytes / 9 + 1).split_at(bytes).0.to_owned();
    for (name, bytes) in
        [("full", 8 << 20), ("over", (8 << 20) + 1), ("searched", 2 << 20), ("not", (2 << 20) + 1)]
    {
        fs::write(folder.0.join("root").join(name), lines(bytes)).unwrap();
    }
    let read = |path| folder.call("files.read", json!({ "path": path, "limit": 1 }));
    assert!(read("full").await.unwrap().ends_with("\na needle\n"));
    let error = read("over").await.unwrap_err().to_string();
    assert!(error.contains("larger than 8388608 bytes"), "{error}");
    let arguments = json!({ "query": "needle", "max_hits": 1 });
    let found = folder.call("files.search", arguments).await.unwrap();
    assert!(found.contains(" in 1 of 7 files\nsearched:1: a needle\n"), "{found}");
}

// Found: S20
#[tokio::test]
async fn folders_are_walked_32_deep() {
    let folder = Folder::new("depth");
    let mut path = folder.0.join("root/deep");
    for depth in 1..=33 {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(format!("at-{depth}")), "x").unwrap();
        path.push("d");
    }
    let listed = folder.call("files.list", json!({})).await.unwrap();
    assert!(listed.contains("/at-32 (1 bytes)"), "{listed}");
    assert!(!listed.contains("at-33"), "{listed}");
    assert!(listed.ends_with("\nnot listed: 1 folders below depth 32"), "{listed}");
}

// Rows: N-60
#[cfg(unix)]
#[tokio::test]
async fn n60_a_file_of_the_program_is_never_below_a_root() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new("own-start");
    let at = |name: &str| folder.0.join(name);
    symlink("root/b.txt", at("to-inside")).unwrap();
    symlink("root/not-yet", at("to-nothing")).unwrap();
    symlink(at("root"), at("alias")).unwrap();
    fs::create_dir_all(at("data")).unwrap();
    symlink("../data", at("root/through")).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("secret.txt",             true,  "beside the root"),
        ("root.db",                true,  "a name that begins as the root does"),
        ("data/tokens",            true,  "it need not exist"),
        ("root/b.txt",             false, "below the root"),
        ("root/sub/new.db-wal",    false, "below the root, and does not exist yet"),
        ("data/../root/b.txt",     false, "a way around"),
        ("to-inside",              false, "a link that leads below the root"),
        ("to-nothing",             false, "a link to what will be below the root"),
        ("alias/sub/c.txt",        false, "another name of the root"),
        ("root/link.txt",          false, "a link below the root, which a tool could replace"),
        ("root/through/tokens",    false, "a folder on the way is a link below the root"),
    ];
    for (name, is_taken, why) in cases {
        for root in ["root", "alias"] {
            let tools = FileTools::new(at(root)).unwrap().withhold([at(name)]);
            assert_eq!(tools.is_ok(), is_taken, "{name} in {root}: {why}");
            let error = tools.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(is_taken || error.contains("is a file of this program"), "{error}");
        }
    }
}

// Rows: N-60
#[cfg(unix)]
#[tokio::test]
async fn n60_a_file_of_the_program_is_reached_through_no_hard_link() {
    let folder = Folder::new("own-link");
    let (own, other) = (folder.0.join("secret.txt"), folder.0.join("root/sub/other.txt"));
    fs::hard_link(&own, folder.0.join("root/sub/h.txt")).unwrap();
    fs::write(&other, "secret too").unwrap();
    let before = fs::read(&own).unwrap();
    let tools = FileTools::new(folder.0.join("root")).unwrap().withhold([own.clone()]).unwrap();
    let tools = tools.into_changing_tools();
    let named = "is a file of this program";
    #[rustfmt::skip]
    let cases = [
        ("files.read",   json!({ "path": "sub/h.txt" }),                                       named),
        ("files.search", json!({ "path": "sub/h.txt", "query": "secret" }),                    named),
        ("files.search", json!({ "path": "sub", "query": "secret" }),                          "1 hits in 1 of 2 files\nsub/other.txt:1: secret too\n"),
        ("files.list",   json!({ "path": "sub" }),                                             "c.txt (3 bytes)\nsub/other.txt (10 bytes)"),
        ("files.write",  json!({ "path": "sub/h.txt", "content": "x" }),                       named),
        ("files.edit",   json!({ "path": "sub/h.txt", "old": "secret", "new": "x" }),          named),
        ("files.copy",   json!({ "from": "sub/h.txt", "to": "copy.txt" }),                     named),
        ("files.copy",   json!({ "from": "b.txt", "to": "sub/h.txt", "overwrite": true }),     named),
        ("files.move",   json!({ "from": "sub/h.txt", "to": "moved.txt" }),                    named),
        ("files.remove", json!({ "path": "sub/h.txt" }),                                       named),
    ];
    for (name, arguments, want) in cases {
        let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
        let shown = tool.preview(ToolContext::default(), arguments.clone().into()).await;
        let made = tool.execute(ToolContext::default(), arguments.clone().into()).await;
        let made = made.map_or_else(|error| error.to_string(), |output| output.content);
        assert!(made.contains(want), "{name} {arguments}: {made}");
        let shown = shown.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(shown.is_empty() || shown.contains(named), "{name} {arguments}: {shown}");
    }
    assert_eq!(fs::read(&own).unwrap(), before);
    assert!(!folder.0.join("root/copy.txt").exists());
}

// Rows: N-41
#[tokio::test]
async fn n41_the_form_of_a_text_is_shown() {
    let folder = Folder::new("shown-form");
    let wide: Vec<u8> = "\u{feff}né\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    #[rustfmt::skip]
    let cases: [(&[u8], &str); 8] = [
        (b"a\nb\n",                "t: lines 1 to 2 of 2\na\nb\n"),
        (b"a\r\nb\r\n",            "t: lines 1 to 2 of 2, CRLF line ends\na\nb\n"),
        (b"a\r\nb\n",              "t: lines 1 to 2 of 2, mixed line ends (LF and CRLF)\na\nb\n"),
        (b"\xef\xbb\xbfa\r\n",     "t: lines 1 to 1 of 1, UTF-8 with a BOM, CRLF line ends\na\n"),
        (&wide,                    "t: lines 1 to 1 of 1, UTF-16LE with a BOM, CRLF line ends\nné\n"),
        (b"n\xe9 \x80\n",          "t: lines 1 to 1 of 1, read as Windows-1252\nné €\n"),
        (b"n\xc3\xa9 \xff\n",      "t: lines 1 to 1 of 1, 1 places that are not UTF-8 and are shown as U+FFFD\nné \u{fffd}\n"),
        (b"\xef\xbb\xbf",          "t: lines 1 to 0 of 0, UTF-8 with a BOM\n"),
    ];
    for (bytes, want) in cases {
        fs::write(folder.0.join("root/t"), bytes).unwrap();
        let read = folder.call("files.read", json!({ "path": "t" })).await.unwrap();
        assert_eq!(read, want, "{bytes:?}");
    }
    fs::write(folder.0.join("root/t"), &wide).unwrap();
    let found = folder.call("files.search", json!({ "path": "t", "query": "NÉ" })).await.unwrap();
    assert_eq!(found, "1 hits in 1 of 1 files\nt:1: né\n");
}

// Rows: N-42
#[tokio::test]
async fn n42_a_long_line_is_read_in_parts_and_its_hits_have_a_place() {
    let folder = Folder::new("columns");
    let line = format!("first{}é needle{}last", ".".repeat(10_000), "x".repeat(300_000));
    fs::write(folder.0.join("root/t"), format!("short\n{line}\n")).unwrap();
    let read = |more: Value| {
        let mut arguments = json!({ "path": "t" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        folder.call("files.read", arguments)
    };
    let all = read(json!({})).await.unwrap();
    assert!(all.starts_with("t: lines 1 to 2 of 2\nshort\nfirst..."), "{all:.60}");
    assert!(
        all.ends_with("[… 306017 more characters of this line; `column`: 4001 reads on]\n"),
        "{}",
        all.len()
    );
    // The places that it names lead through the whole line.
    let (mut column, mut joined) = (1, String::new());
    loop {
        let asked = json!({ "offset": 2, "column": column, "columns": 16_000 });
        let part = read(asked).await.unwrap();
        let part = part.split_once('\n').unwrap().1.trim_end_matches('\n').to_owned();
        let Some((part, note)) = part.split_once("[… ") else {
            joined.push_str(&part);
            break;
        };
        joined.push_str(part);
        let next = note.split("`column`: ").nth(1).unwrap().split(' ').next().unwrap();
        column = next.parse::<usize>().unwrap();
    }
    assert_eq!(joined, line);
    let end = read(json!({ "column": 310_014, "columns": 2 })).await.unwrap();
    assert!(
        end.ends_with("of 2\n\nla[… 2 more characters of this line; `column`: 310016 reads on]\n"),
        "{end}"
    );
    let past = read(json!({ "column": 400_000 })).await.unwrap();
    assert!(past.ends_with("of 2\n\n\n"), "{past}");
    let found = folder.call("files.search", json!({ "query": "É NEEDLE" })).await.unwrap();
    let hit = found.lines().nth(1).unwrap();
    assert!(
        hit.starts_with("t:2:10006: …....") && hit.contains("é needlexx") && hit.ends_with("xx…"),
        "{hit}"
    );
    assert!(hit.chars().count() < 220, "{hit}");
    for (query, starts) in [("first", "t:2:1: first"), ("LAST", "t:2:310014: …xx")] {
        let found = folder.call("files.search", json!({ "query": query })).await.unwrap();
        assert!(found.lines().nth(1).unwrap().starts_with(starts), "{found}");
    }
}
