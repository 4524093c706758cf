//! Structured output.

use serde_json::{Value, json};

use super::abilities::schema;
use crate::conformance::{
    harness::{Answer, CheckSuite, ReceivedRequest, ServerReply, prompt},
    verdict::{CheckMiss, CheckVerdict, VerdictRows, absent, hold},
};
use forgeline_llm::{
    AnswerSchema, ProviderError, Structured, StructuredExt as _, StructuredMethod,
};
use forgeline_types::ErrorCode;

type StructuredResult = Result<Structured<Value>, ProviderError>;

pub(super) async fn native(suite: &CheckSuite<'_>) -> CheckVerdict {
    if !suite.capabilities()?.structured_output {
        return Err(absent("the provider declares no structured output"));
    }
    let trial = suite.trial(|_| ())?;
    let deltas = ["{\"town\":", "\"Lisbon\",", "\"year\":2007}"];
    trial.reply(ServerReply::pieces(suite.plain(&Answer::text(deltas))?));
    let answer = trial.provider.complete_json(prompt(), AnswerSchema::new(schema())).await;
    let answer =
        answer.map_err(|error| CheckMiss::Fails(vec![format!("it ends with {error:?}")]))?;
    hold(answer.method == StructuredMethod::Native, || format!("it goes by {:?}", answer.method))?;
    let want = json!({ "town": "Lisbon", "year": 2007 });
    hold(answer.value == want, || format!("the value is {}", answer.value))?;
    let body = trial.server.asked().first().map(ReceivedRequest::body).unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    hold(["town", "year", "integer"].iter().all(|word| body.contains(word)), || {
        format!("the schema is not in the request: {body}")
    })
}

async fn asked(suite: &CheckSuite<'_>, reply: ServerReply) -> Result<StructuredResult, CheckMiss> {
    let trial = suite.trial(|_| ())?;
    trial.reply(reply);
    // Requested in the prompt, so that reading the answer does not depend on the vendor.
    let schema = AnswerSchema::new(schema()).method(StructuredMethod::Prompt).answer_repairs(0);
    Ok(trial.provider.complete_json(prompt(), schema).await)
}

pub(super) async fn faults(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    let blank = ServerReply::pieces(suite.plain(&Answer::text([" \n {\"town\":\"Lisbon\"} \n"]))?);
    let answer = asked(suite, blank).await?;
    let is_read = answer.as_ref().is_ok_and(|answer| answer.value == json!({ "town": "Lisbon" }));
    rows.add("whitespace around it", hold(is_read, || format!("it is {answer:?}")));
    let wrong = [
        ("words", Answer::text(["There is none."])),
        ("whitespace", Answer::text([" \n "])),
        ("nothing", Answer::empty()),
    ];
    for (row, answer) in wrong {
        let Some(frames) = suite.subject.answer(&answer) else { continue };
        rows.add(row, is_unfit(&asked(suite, ServerReply::pieces(frames)).await?));
    }
    let body = suite.subject.error_body(ErrorCode::Status, "no birches today");
    let answer = asked(suite, ServerReply::new(500, body)).await?;
    let is_passed_on = matches!(&answer, Err(ProviderError::Status(error)) if error.status == 500);
    rows.add("an error status", hold(is_passed_on, || format!("it is {answer:?}")));
    rows.verdict()
}

fn is_unfit(answer: &StructuredResult) -> CheckVerdict {
    let Err(error @ ProviderError::InvalidAnswer { problem, .. }) = answer else {
        return hold(false, || format!("it is {answer:?}"));
    };
    let shown = error.to_string();
    hold(shown.contains(problem.as_str()), || shown.clone())?;
    hold(!error.is_retryable(), || "it is to be tried again".to_owned())
}
