//! The cause of an error, from the provider to the caller of a run.

use std::error::Error as _;

use super::*;
use forgeline_llm::{ProviderError, StatusError};
use forgeline_types::{AgentError, ErrorCode};

fn limited() -> ProviderError {
    let mut status = StatusError::new(429, ErrorCode::RateLimited, "slow down");
    status.retry_after = Some(Duration::from_secs(7));
    status.request_id = Some("r-1".into());
    ProviderError::retries_exhausted(2, ProviderError::Status(Box::new(status)))
}

#[tokio::test]
async fn the_error_of_a_run_has_the_error_of_the_provider_as_its_source() {
    for begins in [false, true] {
        let turn = || {
            if begins {
                ScriptedTurn::new().text("Once").fail(limited())
            } else {
                ScriptedTurn::refuse(limited())
            }
        };
        let agent = Agent::builder(ScriptedProvider::new([turn(), turn()])).build().unwrap();
        let errors = [
            agent.run("Hi").await.unwrap_err(),
            agent.run_stream("Hi").outcome().await.unwrap_err(),
        ];
        for error in errors {
            let source = error.source().expect("a source").downcast_ref::<ProviderError>();
            assert!(matches!(source, Some(ProviderError::RetriesExhausted { attempts: 2, .. })));
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
            assert_eq!(error.request_id(), Some("r-1"));
            // What is written of it is the same as without a cause.
            let plain = AgentError::new(error.error.code, error.error.message.clone());
            let plain = plain.retryable(error.error.retryable);
            assert_eq!(error.error, plain);
            assert_eq!(
                serde_json::to_value(&error.error).unwrap(),
                serde_json::to_value(&plain).unwrap()
            );
            assert!(!format!("{:?}", error.error).contains("r-1"));
        }
    }
}

#[tokio::test]
async fn an_error_of_the_agent_itself_has_no_source() {
    let turns = || ScriptedTurn::new().call("echo", json!({ "text": "a" }));
    let builder = builder(&ScriptedProvider::new([turns(), turns()])).max_turns(1);
    let error = builder
        .at_limit(crate::config::AtLimit::Fail)
        .build()
        .unwrap()
        .run("Hi")
        .await
        .unwrap_err();
    assert_eq!(error.error.code, ErrorCode::MaxTurns);
    assert!(error.source().is_none() && error.provider_error().is_none());
}
