//! The health check.

use std::time::Duration;

use tokio::time::Instant;

use crate::conformance::{
    harness::{CheckSuite, KEY, MODEL, ProviderTrial, ServerReply},
    verdict::{CheckMiss, CheckVerdict, VerdictRows, hold},
};
use forgeline_llm::{Health, Provider as _, ProviderError};
use forgeline_types::ErrorCode;

/// Maximum duration of a health check.
const MOST: Duration = Duration::from_mins(1);

async fn checked(
    suite: &CheckSuite<'_>,
    reply: ServerReply,
) -> Result<(ProviderTrial, Result<Health, ProviderError>), CheckMiss> {
    let trial = suite.trial(|_| ())?;
    trial.reply(reply);
    let start = Instant::now();
    let health = tokio::time::timeout(MOST, trial.provider.health()).await;
    let took = start.elapsed();
    let health =
        health.map_err(|_| CheckMiss::Fails(vec![format!("it takes more than {took:?}")]))?;
    if matches!(health, Err(ProviderError::Unsupported { .. })) {
        return Err(CheckMiss::Absent("the provider has no health check".to_owned()));
    }
    Ok((trial, health))
}

pub(super) async fn health(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let list = ServerReply::new(200, suite.subject.models_body(MODEL));
    let list = list.header("content-type", "application/json");
    let (trial, health) = checked(suite, list).await?;
    let is_good = health.as_ref().is_ok_and(|health| health.model_listed != Some(false));
    rows.add("a good key", hold(is_good, || format!("it is {health:?}")));
    let is_light = trial.server.asked().iter().all(|asked| asked.body().is_empty());
    rows.add("a good key", hold(is_light, || "it sends a body, which may cost".to_owned()));
    let told = suite.subject.error_body(ErrorCode::Auth, &format!("no such key: {KEY}"));
    let kinds = [
        ("a wrong key", ServerReply::new(401, told), ErrorCode::Auth),
        ("no server", ServerReply::Gone, ErrorCode::Connect),
        ("a silent server", ServerReply::Silent, ErrorCode::Timeout),
    ];
    for (row, reply, want) in kinds {
        let (_, health) = checked(suite, reply).await?;
        let kind = health.as_ref().err().map(ProviderError::code);
        rows.add(row, hold(kind == Some(want), || format!("it is {health:?}, not {want:?}")));
        rows.add(row, hold(!format!("{health:?}").contains(KEY), || "it shows the key".to_owned()));
    }
    rows.verdict()
}
