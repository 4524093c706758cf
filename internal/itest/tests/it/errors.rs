//! Errors say what happened at their own level, and give their cause.

use std::error::Error as _;

use forgeline::{
    llm::{ProviderError, StatusError, TimeoutKind},
    types::ErrorCode,
};

#[test]
fn a_provider_error_shows_one_level_and_gives_its_cause() {
    let error = ProviderError::connect("localhost:8080", "connection refused");
    assert_eq!(
        error.to_string(),
        "cannot reach localhost:8080; check the address and that the server is running"
    );
    assert_eq!(error.source().unwrap().to_string(), "connection refused");
    let plain = error.to_agent_error();
    assert_eq!(
        plain.message,
        "cannot reach localhost:8080; check the address and that the server is running: connection refused"
    );
    assert!(plain.retryable);
}

#[test]
fn every_kind_of_provider_error_knows_its_code_and_whether_a_retry_helps() {
    let status =
        |status, kind| ProviderError::Status(Box::new(StatusError::new(status, kind, "m")));
    let body = ProviderError::body(7, "reset");
    let timeout = ProviderError::timeout(TimeoutKind::Idle, std::time::Duration::from_secs(1));
    let decode = ProviderError::decode(3, "r");
    let cases = [
        ("rate limit", status(429, ErrorCode::RateLimited), ErrorCode::RateLimited, true),
        ("quota", status(429, ErrorCode::QuotaExhausted), ErrorCode::QuotaExhausted, false),
        ("wrong key", status(401, ErrorCode::Auth), ErrorCode::Auth, false),
        ("overload", status(503, ErrorCode::Overloaded), ErrorCode::Overloaded, true),
        ("broken body", body, ErrorCode::Connect, true),
        ("silence", timeout, ErrorCode::Timeout, true),
        ("no JSON", decode, ErrorCode::Decode, false),
        ("early end", ProviderError::ended_early(9), ErrorCode::EndedEarly, true),
        ("cancelled", ProviderError::Cancelled, ErrorCode::Cancelled, false),
    ];
    for (name, error, code, is_retryable) in cases {
        assert_eq!((error.code(), error.is_retryable()), (code, is_retryable), "{name}");
        let first = error.to_string().chars().next().unwrap();
        assert!(!first.is_uppercase(), "{name}: starts in lower case");
    }
}
