//! The files of the console.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
    response::Response,
};
use tower::ServiceExt as _;

use super::{ASSETS, PAGE};
use crate::{Service, Tokens, router};
use forgeline_agent::{Agent, Caller};
use forgeline_llm::demo::DemoProvider;

/// A service that lets those with a token in alone.
fn app(has_console: bool) -> Router {
    let agent = Agent::builder(DemoProvider::new()).build().unwrap();
    let tokens = Tokens::new().token("ann", Caller::new("ann").scope("team-a"));
    let service = Service::builder().agent("main", agent).identify(tokens).console(has_console);
    router(service.build().unwrap())
}

async fn get(app: &Router, path: &str, known: Option<&str>) -> Response {
    let mut request = Request::builder().method(Method::GET).uri(path);
    if let Some(tag) = known {
        request = request.header("if-none-match", tag);
    }
    app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

async fn text(response: Response) -> String {
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.into()).unwrap()
}

fn paths() -> Vec<String> {
    let assets = ASSETS.iter().map(|asset| format!("/console/{}", asset.name));
    std::iter::once("/".to_owned()).chain(assets).collect()
}

#[tokio::test]
async fn each_file_is_sent_with_its_policy_and_once() {
    let app = app(true);
    for path in paths() {
        let response = get(&app, &path, None).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let headers = response.headers().clone();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert!(!text(response).await.is_empty(), "{path}");
        let tag = headers["etag"].to_str().unwrap();
        for known in [tag, "*", &format!("\"x\", W/{tag}")] {
            let again = get(&app, &path, Some(known)).await;
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path} {known}");
            assert_eq!(text(again).await, "");
        }
        assert_eq!(get(&app, &path, Some("\"x\"")).await.status(), StatusCode::OK);
    }
    for path in ["/console/", "/console/x.js", "/console/..%2fmod.rs", "/console/index.html"] {
        assert_eq!(get(&app, path, None).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

// Rows: N-64
#[tokio::test]
async fn the_page_stands_in_an_application_of_its_host_and_behind_a_prefix() {
    let host = Router::new()
        .route("/", axum::routing::get(async || "the host's own"))
        .merge(app(false))
        .nest("/ai", app(true))
        .nest("/deep/er", app(true));
    assert_eq!(text(get(&host, "/", None).await).await, "the host's own");
    assert_eq!(get(&host, "/console/main.js", None).await.status(), StatusCode::NOT_FOUND);
    // Where the page is seen, behind what a proxy puts before it and takes away again.
    for (page, prefix) in [("/ai", ""), ("/ai", "/before"), ("/deep/er", ""), ("/deep/er", "/a/b")]
    {
        let seen = text(get(&host, page, None).await).await;
        let address = format!("{prefix}{page}");
        let (folder, _) = address.rsplit_once('/').unwrap();
        for name in named(&seen, "src=\"").into_iter().chain(named(&seen, "href=\"")) {
            if name.starts_with('#') {
                continue;
            }
            assert!(!name.starts_with('/'), "{page}: {name}");
            let file = format!("{folder}/{name}").replace("/./", "/");
            let at = file.strip_prefix(prefix).unwrap();
            assert_eq!(get(&host, at, None).await.status(), StatusCode::OK, "{page}: {name}");
        }
    }
    let alone = text(get(&app(true), "/", None).await).await;
    assert!(alone.contains("src=\"./console/main.js\""), "{alone}");
    for (path, base) in
        [("/a\"onload=x", "."), ("//evil.example/", "."), ("//evil.example", "evil.example")]
    {
        assert_eq!(super::relative_base(path), base);
    }
}

/// What the files name in quotes behind `words`.
fn named<'t>(text: &'t str, words: &str) -> Vec<&'t str> {
    let behind = text.split(words).skip(1);
    behind.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn the_files_name_each_other_and_nothing_outside() {
    let is_there = |name: &str| ASSETS.iter().any(|asset| asset.name == name);
    let mut used = named(PAGE, "{base}/console/");
    for asset in ASSETS {
        let imports = named(asset.text, " from \"./").into_iter();
        used.extend(imports.filter(|_| asset.name.strip_suffix(".css").is_none()));
        // Addresses in it are those of the standard of pictures, and what the reader of links compares.
        let is_foreign = |at: &str| !at.starts_with("www.w3.org/2000/svg");
        let foreign: Vec<_> =
            asset.text.split("http://").skip(1).filter(|at| is_foreign(at)).collect();
        assert!(
            foreign.is_empty() && !asset.text.contains("https://"),
            "{}: {foreign:?}",
            asset.name
        );
        assert!(!asset.text.contains("@import") && !asset.text.contains("url("), "{}", asset.name);
    }
    for name in &used {
        assert!(is_there(name), "{name} is used, and is not a file of the console");
    }
    for asset in ASSETS {
        assert!(used.contains(&asset.name), "{} is not used", asset.name);
    }
}

#[test]
fn no_text_becomes_markup_or_program() {
    let ways = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "eval(",
        "Function(",
        "createContextualFragment",
        "srcdoc",
        "setHTML",
        "setTimeout(\"",
        "javascript:",
    ];
    for asset in ASSETS.iter().filter(|asset| asset.kind.starts_with("text/javascript")) {
        for way in ways {
            assert!(!asset.text.contains(way), "{} has `{way}`", asset.name);
        }
        assert!(asset.text.lines().count() <= 500, "{} is long", asset.name);
    }
    // Nor has the page styles or listeners of its own.
    let attributes = PAGE.split_whitespace().filter_map(|word| word.split_once('='));
    for (name, _) in attributes {
        assert!(name != "style" && !name.starts_with("on"), "the page has `{name}`");
    }
    assert!(!PAGE.contains("<style") && PAGE.matches("<script").count() == 1);
}
