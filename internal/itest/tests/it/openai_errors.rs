//! Every recorded HTTP error body becomes a typed error.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use forgeline::{
    llm::{
        Provider, ProviderError, Request, RetryPolicy, StatusError, openai::OpenAi,
        transport::Transport,
    },
    types::ErrorCode,
};
use forgeline_testkit::{canned::Canned, recorded};

use super::wires::WIRES;

/// What an answer becomes, whatever the protocol of the provider.
async fn status_of(canned: Arc<Canned>) -> StatusError {
    let canned: Arc<dyn Transport> = canned;
    let mut errors = Vec::new();
    for wire in WIRES {
        let canned = Arc::clone(&canned);
        let provider = wire.provider("http://h", &move |mut setup| {
            setup.transport = Some(Arc::clone(&canned));
            setup.retry = RetryPolicy::NONE;
            setup
        });
        errors.push(status(&*provider).await);
    }
    assert!(errors.windows(2).all(|two| two[0] == two[1]), "{errors:?}");
    errors.swap_remove(0)
}

async fn status(provider: &dyn Provider) -> StatusError {
    match provider.stream_completion(Request::prompt("x")).await.map(drop) {
        Err(ProviderError::Status(error)) => *error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_error_body_tells_its_kind_its_message_and_when_to_come_back() {
    use ErrorCode::{
        Auth, ContentFiltered, ContextExceeded, InvalidRequest, Overloaded, QuotaExhausted,
        RateLimited, Status,
    };
    let Some(folder) = recorded::folder().map(|folder| folder.join("http-errors")) else {
        return;
    };
    #[rustfmt::skip]
    let cases: [(&str, ErrorCode, &str, Option<u64>, bool); 35] = [
        ("anthropic-400-input-schema",        InvalidRequest,  "tools.0.custom.input_schema: Input", None, false),
        ("anthropic-400-invalid-request",     InvalidRequest,  "messages.0: Input does", None, false),
        ("anthropic-400-unsupported-effort",  InvalidRequest,  "This model does not support effort", None, false),
        ("anthropic-404-model",               InvalidRequest,  "model: claude-nonexistent", None, false),
        ("anthropic-429-observed-headers",    RateLimited,     "This request would exceed", Some(1000), true),
        ("anthropic-429-spend-limit-do-not-retry", QuotaExhausted, "Monthly spend limit", None, false),
        ("anthropic-529-overloaded",          Overloaded,      "Overloaded", None, true),
        ("azure-422-details",                 InvalidRequest,  "invalid input error", None, false),
        ("azure-429-rate-limit-retry-after",  RateLimited,     "Your requests to grok", Some(1000), true),
        ("baseten-400-tabs-json",             InvalidRequest,  "Validation: `response_format", None, false),
        ("bfl-404-detail",                    InvalidRequest,  "Not Found", None, false),
        ("cloudflare-401-errors-array",       Auth,            "Authentication error", None, false),
        ("cohere-400-too-many-tokens",        ContextExceeded, "too many tokens", None, false),
        ("cohere-404-model",                  InvalidRequest,  "model 'bad model' not found", None, false),
        ("deepseek-400-model-not-exist",      InvalidRequest,  "Model Not Exist", None, false),
        ("deepseek-401",                      Auth,            "Authentication Fails", None, false),
        ("gemini-400-api-key",                Auth,            "API key not valid", None, false),
        ("huggingface-402-credits",           QuotaExhausted,  "You have exceeded your monthly", None, false),
        ("huggingface-500-detail-only",       Status,          "Unable to process request", None, true),
        ("llamacpp-500-context-size-exceeded", ContextExceeded, "Context size has been", None, false),
        ("llamacpp-500-schema-and-grammar",   Status,          "Cannot use both", None, true),
        ("llamacpp-local-openai-bad-request", InvalidRequest,  "Expected 'messages'", None, false),
        ("llamacpp-local-openai-context-exceeded", ContextExceeded, "request (9093 tokens)", None, false),
        ("mistral-400-invalid-model",         InvalidRequest,  "Invalid model", None, false),
        ("mistral-422-detail-list",           InvalidRequest,  "body.tools.list[Tool].0.type: Input should be", None, false),
        ("mistral-500-service-unavailable",   Overloaded,      "Service unavailable.", None, true),
        ("openai-400-param-out-of-range",     InvalidRequest,  "Invalid 'temperature'", None, false),
        ("openai-401-invalid-key",            Auth,            "Incorrect API key", None, false),
        ("openai-429-insufficient-quota-do-not-retry", QuotaExhausted, "You exceeded your current quota", None, false),
        ("openai-429-tpm",                    RateLimited,     "Rate limit reached for gpt-4.1", Some(3890), true),
        ("openrouter-403-moderation-safety",  ContentFiltered, "Provider returned error: Content violates", None, false),
        ("openrouter-429-free-models-per-min", RateLimited,    "Rate limit exceeded: free-models-per-min.", None, true),
        ("openrouter-429-upstream-rate-limited", RateLimited,  "Provider returned error: google/gemini", None, true),
        ("perplexity-401-html-page",          Auth,            "a web page titled \"401 Authorization Required\"", None, false),
        ("together-404-model",                InvalidRequest,  "Unable to access model bad model.", None, false),
    ];
    let mut wrong = Vec::new();
    let mut bodies = BTreeMap::new();
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        if let Some((name, _)) = file.split_once(".body.") {
            bodies.insert(name.to_owned(), path);
        }
    }
    let unread = bodies.keys().filter(|name| !cases.iter().any(|case| case.0 == name.as_str()));
    let unread: Vec<_> = unread.collect();
    assert!(unread.is_empty(), "nothing is expected of {unread:?}");
    for (name, kind, message, wait, retryable) in cases {
        let meta = recorded::json(&folder.join(format!("{name}.meta.json")));
        let headers = meta["headers"].as_object().unwrap().iter();
        let headers =
            headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
        let body = fs::read(&bodies[name]).unwrap();
        let status = u16::try_from(meta["status"].as_u64().unwrap()).unwrap();
        let error = status_of(Canned::with(status, headers.collect(), body)).await;
        let wait = wait.map(Duration::from_millis);
        let fits =
            error.kind == kind && error.message.starts_with(message) && error.retry_after == wait;
        if !fits || error.status != status {
            wrong.push(format!("{name}: {error:?}"));
        }
        if let Some(id) = meta["headers"].get("x-request-id").and_then(|id| id.as_str()) {
            assert_eq!(error.request_id.as_deref(), Some(id), "{name}");
        }
        let again = ProviderError::Status(Box::new(error)).is_retryable();
        if again != retryable {
            wrong.push(format!("{name}: retryable {again}"));
        }
    }
    forgeline_testkit::say(format!("read {} error bodies", cases.len()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_web_page_is_told_in_a_line() {
    let body = b"<html>\n<head><title>401 Authorization Required</title></head>".to_vec();
    let error = status_of(Canned::status(401, body)).await;
    assert_eq!(error.kind, ErrorCode::Auth);
    assert_eq!(error.message, "a web page titled \"401 Authorization Required\"");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_where_to() {
    let headers = vec![("location".to_owned(), "https://elsewhere/v1".to_owned())];
    let error = status_of(Canned::with(307, headers, "")).await;
    assert!(error.message.contains("https://elsewhere/v1"), "{}", error.message);
}

#[tokio::test]
async fn health_is_a_list_and_a_key_is_checked_only_where_none_goes_without() {
    let vendor = "https://api.openai.com/v1";
    let list = r#"{"data":[{"id":"m-2025-01-31"}]}"#;
    #[rustfmt::skip]
    let cases = [
        (vendor,     200, list,                  Ok((true, Some(true)))),
        ("http://h", 200, list,                  Ok((false, Some(true)))),
        (vendor,     404, "nothing here",        Ok((false, None))),
        (vendor,     200, "<html>Sign in</html>", Err(ErrorCode::Decode)),
        (vendor,     200, "{\"status\":\"ok\"}",  Err(ErrorCode::Decode)),
        (vendor,     401, "{}",                  Err(ErrorCode::Auth)),
    ];
    for (url, status, body, want) in cases {
        let canned = Canned::status(status, body);
        let builder = OpenAi::builder().base_url(url).api_key("k").model("m");
        let health = builder.transport(canned).build().unwrap().health().await;
        let found = health.map(|health| (health.key_checked, health.model_listed));
        assert_eq!(found.map_err(|error| error.code()), want, "{url}, {status}: {body}");
    }
}
