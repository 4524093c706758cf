//! The files of the console.

/// A file of the console.
pub(super) struct ConsoleAsset {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

/// The page.
pub(super) const PAGE: &str = include_str!("assets/index.html");

/// Declares files by their names below `assets`.
macro_rules! assets {
    ($($name:literal is $kind:literal,)+) => {
        &[$(ConsoleAsset { name: $name, kind: $kind, text: include_str!(concat!("assets/", $name)) },)+]
    };
}

/// The files that the page loads.
pub(super) const ASSETS: &[ConsoleAsset] = assets! {
    "api.js" is "text/javascript; charset=utf-8",
    "approval.js" is "text/javascript; charset=utf-8",
    "ask.js" is "text/javascript; charset=utf-8",
    "base.css" is "text/css; charset=utf-8",
    "call_view.js" is "text/javascript; charset=utf-8",
    "chat.css" is "text/css; charset=utf-8",
    "chat.js" is "text/javascript; charset=utf-8",
    "client_tool.js" is "text/javascript; charset=utf-8",
    "conversations.js" is "text/javascript; charset=utf-8",
    "dialogs.js" is "text/javascript; charset=utf-8",
    "dom.js" is "text/javascript; charset=utf-8",
    "feed.js" is "text/javascript; charset=utf-8",
    "form.js" is "text/javascript; charset=utf-8",
    "frames.js" is "text/javascript; charset=utf-8",
    "icon.svg" is "image/svg+xml",
    "inline.js" is "text/javascript; charset=utf-8",
    "kept.js" is "text/javascript; charset=utf-8",
    "latency.js" is "text/javascript; charset=utf-8",
    "leaves.js" is "text/javascript; charset=utf-8",
    "links.js" is "text/javascript; charset=utf-8",
    "main.js" is "text/javascript; charset=utf-8",
    "markdown.js" is "text/javascript; charset=utf-8",
    "pages.css" is "text/css; charset=utf-8",
    "plot.js" is "text/javascript; charset=utf-8",
    "pump.js" is "text/javascript; charset=utf-8",
    "question.js" is "text/javascript; charset=utf-8",
    "rows.js" is "text/javascript; charset=utf-8",
    "run_view.js" is "text/javascript; charset=utf-8",
    "say.js" is "text/javascript; charset=utf-8",
    "session.js" is "text/javascript; charset=utf-8",
    "stream.js" is "text/javascript; charset=utf-8",
    "talk.js" is "text/javascript; charset=utf-8",
    "timeline.js" is "text/javascript; charset=utf-8",
    "turn.js" is "text/javascript; charset=utf-8",
    "unseen.js" is "text/javascript; charset=utf-8",
    "values.js" is "text/javascript; charset=utf-8",
};
