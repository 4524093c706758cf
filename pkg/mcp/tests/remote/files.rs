//! Tokens in files, and a browser that comes back.

use std::{fs, path::PathBuf};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{FileTokens, LoopbackLogins, McpLogins as _, TokenStore as _};

fn empty_folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("forgeline-{name}-{}", std::process::id()));
    fs::remove_dir_all(&path).ok();
    path
}

#[cfg(unix)]
#[tokio::test]
async fn tokens_are_in_files_that_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = empty_folder("mcp-tokens");
    let store = FileTokens::new(folder.join("made/with/it"));
    assert!(store.load("https://a").await.unwrap().is_none());
    assert!(!store.folder().exists(), "nothing is made before the first login");
    store.save("https://a", Some("one".into())).await.unwrap();
    store.save("https://b", Some("two".into())).await.unwrap();
    store.save("https://a", Some("three".into())).await.unwrap();
    let read = async |server| store.load(server).await.unwrap().map(|it| it.expose().to_owned());
    assert_eq!(read("https://a").await.as_deref(), Some("three"));
    assert_eq!(read("https://b").await.as_deref(), Some("two"));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.folder()), 0o700);
    let files: Vec<_> =
        fs::read_dir(store.folder()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "nothing is left beside them: {files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600));
    assert!(!format!("{files:?}").contains("https"), "a name says nothing");
    for file in &files {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let error = store.load("https://a").await.unwrap_err().to_string();
    assert!(error.contains("other users may read it"), "{error}");
    store.save("https://a", None).await.unwrap();
    store.save("https://a", None).await.unwrap();
    assert!(store.load("https://a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_file_of_tokens_is_locked_for_one_server_until_the_lock_is_dropped() {
    let folder = empty_folder("mcp-tokens-lock");
    // Stores of two programs, as far as the system knows.
    let (one, other) = (FileTokens::new(&folder), FileTokens::new(&folder));
    assert!(one.lock("https://a").await.is_err(), "there is no folder yet");
    one.save("https://a", Some("one".into())).await.unwrap();
    let held = one.lock("https://a").await.unwrap();
    let elsewhere = other.lock("https://b").await.unwrap();
    let mut waiting = std::pin::pin!(other.lock("https://a"));
    let wait = std::time::Duration::from_secs(1);
    assert!(tokio::time::timeout(wait, &mut waiting).await.is_err(), "two have it");
    // Who waits no more holds nothing.
    let dropped = tokio::time::timeout(wait, other.lock("https://a")).await;
    assert!(dropped.is_err());
    drop((held, elsewhere));
    let again = waiting.await.unwrap();
    let in_vain = tokio::time::timeout(wait, one.lock("https://a")).await;
    assert!(in_vain.is_err());
    drop(again);
    one.lock("https://a").await.unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error_that_names_the_file() {
    let folder = empty_folder("mcp-tokens-file");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let store = FileTokens::new(folder.join("file/below"));
    let error = store.save("https://a", Some("s3cret-token".into())).await.unwrap_err().to_string();
    assert!(error.contains("file/below") && !error.contains("s3cret"), "{error}");
}

async fn browse(at: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_browser_is_waited_for_and_only_the_answer_counts() {
    let (pages, shown) = std::sync::mpsc::channel();
    let logins = LoopbackLogins::new(move |server, page| {
        pages.send(format!("{server} {page}")).unwrap();
    });
    let login = logins.begin("docs").await.unwrap();
    let redirect = login.redirect_uri();
    let at =
        redirect.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap().to_owned();
    assert!(at.starts_with("127.0.0.1:"), "{at}");
    let answer = tokio::spawn(login.answer("https://auth.example/page?a=1&state=word"));
    for wrong in [
        "GET /favicon.ico HTTP/1.1\r\n\r\n",
        "GET /callback?code=stolen&state=other HTTP/1.1\r\n\r\n",
        "GET /callback?code=stolen HTTP/1.1\r\n\r\n",
        "POST /callback?code=stolen&state=word HTTP/1.1\r\n\r\n",
    ] {
        assert!(browse(&at, wrong).await.starts_with("HTTP/1.1 404"), "{wrong}");
    }
    drop(TcpStream::connect(&at).await.unwrap());
    let page = browse(&at, "GET /callback?code=c&state=word HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("close this window"), "{page}");
    assert_eq!(answer.await.unwrap().unwrap(), format!("{redirect}?code=c&state=word"));
    assert_eq!(shown.recv().unwrap(), "docs https://auth.example/page?a=1&state=word");
    assert!(TcpStream::connect(&at).await.is_err(), "nothing listens behind the login");
}

#[tokio::test]
async fn a_login_serves_several_connections_until_the_right_one() {
    // A stall of the machine lengthens one of three; what waits for a head takes 5 s each time.
    let mut took = vec![serves_several_connections().await];
    while took.len() < 3 && took.iter().all(|it| it.as_secs() >= 4) {
        took.push(serves_several_connections().await);
    }
    assert!(took.iter().any(|it| it.as_secs() < 4), "{took:?}");
}

async fn serves_several_connections() -> std::time::Duration {
    let logins = LoopbackLogins::new(|_, _| {});
    let login = logins.begin("docs").await.unwrap();
    let redirect = login.redirect_uri();
    let at =
        redirect.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap().to_owned();
    let answer = tokio::spawn(login.answer("https://auth.example/page?state=word"));
    // A browser opens connections before it needs them, and one stops in the middle of a request.
    let mut idle = Vec::new();
    for _ in 0..6 {
        idle.push(TcpStream::connect(&at).await.unwrap());
    }
    idle[0].write_all(b"GET /callback?co").await.unwrap();
    let began = std::time::Instant::now();
    let favicon = browse(&at, "GET /favicon.ico HTTP/1.1\r\n\r\n").await;
    assert!(favicon.starts_with("HTTP/1.1 404"), "{favicon}");
    // The one that was opened first may also be the one that is used.
    let mut used = idle.remove(3);
    used.write_all(b"GET /callback?code=c&state=word HTTP/1.1\r\n\r\n").await.unwrap();
    let mut page = String::new();
    used.read_to_string(&mut page).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert_eq!(answer.await.unwrap().unwrap(), format!("{redirect}?code=c&state=word"));
    began.elapsed()
}
