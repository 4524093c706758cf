//! Checks when a provider is built, and what is declared of its model.

use std::time::Duration;

use super::builder::own_transport;
use crate::{Provider as _, ProviderError, RetryPolicy, Timeouts, openai::OpenAi};
use forgeline_types::Capabilities;

#[test]
fn what_cannot_work_fails_when_it_is_built_and_shows_no_secret() {
    let good = || OpenAi::builder().base_url("http://h").model("m");
    #[rustfmt::skip]
    let cases = [
        ("no scheme",    good().base_url("h:8080"),                  "not an HTTP URL"),
        ("no host",      good().base_url("http://"),                 "not an HTTP URL"),
        ("no host",      good().base_url("http:///v1"),              "not an HTTP URL"),
        ("a port",       good().base_url("http://me:pw-1@h:no/v1"),  "not an HTTP URL"),
        ("a name",       good().header("x y", "v"),                  "invalid header name"),
        ("a value",      good().header("x-y", "secret\nz"),          "\"x-y\""),
        ("a key",        good().api_key("secret\nz"),                "\"authorization\""),
        ("no attempt",   good().retry(RetryPolicy::NONE.max_attempts(0)), "max_attempts"),
    ];
    for (case, builder, says) in cases {
        let error = builder.build().unwrap_err();
        assert!(matches!(error, ProviderError::Config { .. }), "{case}: {error:?}");
        let said = error.to_string();
        assert!(said.contains(says), "{case}: {said}");
        assert!(!said.contains("secret") && !said.contains("pw-1"), "{case}: {said}");
    }
    for base in ["http://[::1]:8080/v1", " https://h?api-version=1 ", "http://u:p@h"] {
        assert!(good().base_url(base).build().is_ok(), "{base}");
    }
}

#[test]
fn the_time_to_connect_reaches_the_transport() {
    let timeouts = Timeouts::default().connect(Duration::from_secs(7));
    let builder = OpenAi::builder().timeouts(timeouts);
    let shown = format!("{:?}", own_transport(&builder.config).unwrap());
    assert!(shown.contains("connect_timeout: Some(7s)"), "{shown}");
}

#[test]
fn what_a_model_is_known_to_lack_is_declared_and_follows_the_model() {
    let provider = OpenAi::new("k", "gpt-3.5-turbo").unwrap();
    let info = provider.info();
    assert!(!info.capabilities.vision && info.capabilities.tools);
    assert_eq!(info.context_tokens, Some(16_385));
    assert_eq!(provider.config().capabilities, info.capabilities);

    let other = provider.with_model("gpt-4o");
    assert!(other.info().capabilities.vision && other.config().capabilities.vision);
    assert_eq!(other.info().context_tokens, Some(128_000));

    let unknown = other.with_model("my own model");
    assert!(unknown.info().capabilities.vision && unknown.info().capabilities.thinking);
    assert_eq!(unknown.info().context_tokens, None);
}

// Found: F2
#[test]
fn calls_may_be_left_in_the_text_by_any_host_but_the_vendors() {
    #[rustfmt::skip]
    let cases = [
        ("https://api.openai.com/v1",    false),
        ("https://API.openai.com",       false),
        ("http://127.0.0.1:8080/v1",     true),
        ("https://api.openai.com.eu/v1", true),
    ];
    for (base, want) in cases {
        let provider = OpenAi::builder().base_url(base).model("m").api_key("k").build().unwrap();
        assert_eq!(provider.info().text_calls, want, "{base}");
    }
}

#[test]
fn capabilities_set_by_hand_stay_whatever_the_model() {
    let mut by_hand = OpenAi::builder().config.capabilities;
    by_hand.tools = false;
    let builder = OpenAi::builder().api_key("k").model("gpt-3.5-turbo");
    let provider = builder.capabilities(by_hand).build().unwrap();
    for model in ["gpt-3.5-turbo", "o1-mini", "gpt-4o"] {
        let provider = provider.with_model(model);
        assert_eq!(provider.info().capabilities, by_hand, "{model}");
    }
    assert_ne!(by_hand, Capabilities::default());
}
