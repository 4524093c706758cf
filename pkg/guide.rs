//! The programs of the guide, compiled and run as tests of the documentation.

/// Declares a module for each page.
macro_rules! pages {
    ($($name:ident: $file:literal,)*) => {
        $(#[doc = include_str!(concat!("../docs/guide/", $file))] mod $name {})*
    };
}

pages! {
    approvals: "approvals.md",
    batch: "batch.md",
    conversations: "conversations.md",
    errors: "errors.md",
    extending: "extending.md",
    first_agent: "first-agent.md",
    five_things: "five-things.md",
    gateway: "gateway.md",
    local_models: "local-models.md",
    persistence: "persistence.md",
    steering: "steering.md",
    streaming: "streaming.md",
    structured_output: "structured-output.md",
    testing: "testing.md",
    tools: "tools.md",
}
