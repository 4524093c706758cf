//! The declared capabilities of the model.

use serde_json::json;

use crate::conformance::{
    harness::{Answer, CheckSuite, ProviderTrial, ReceivedRequest, ServerReply},
    verdict::{CheckMiss, CheckVerdict, VerdictRows, absent, hold},
};
use forgeline_llm::{ProviderError, Request, ResponseFormat, ToolSpec};
use forgeline_types::{Capabilities, Message, MessageRole, Part, Transcript};

/// Base64 that appears unchanged in a body.
const DATA: &str = "Y29uZm9ybWFuY2U=";

/// A request that needs a capability, the part of it that must reach the wire, and the flag.
struct AbilityNeed {
    name: &'static str,
    request: Request,
    on_wire: &'static [&'static str],
    flag: fn(&mut Capabilities) -> &mut bool,
}

fn shown(part: Part) -> Request {
    let text = Part::text("What is it?");
    Request::new(Transcript::from(vec![Message::new(MessageRole::User, vec![text, part])]))
}

pub(super) fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": { "town": { "type": "string" }, "year": { "type": "integer" } },
        "required": ["town", "year"],
        "additionalProperties": false,
    })
}

pub(super) fn lookup() -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ToolSpec::new("lookup", "Looks up a birch.", parameters)
}

fn needs() -> Vec<AbilityNeed> {
    let prompt = || Request::prompt("What is it?");
    let format = ResponseFormat::json_schema("place", schema(), true);
    let data = DATA.to_owned();
    let document = Part::document("application/pdf", data.clone(), "birches.pdf".to_owned());
    vec![
        AbilityNeed {
            name: "images",
            request: shown(Part::image("image/png", data)),
            on_wire: &[DATA],
            flag: |able| &mut able.vision,
        },
        AbilityNeed {
            name: "documents",
            request: shown(document),
            on_wire: &[DATA],
            flag: |able| &mut able.documents,
        },
        AbilityNeed {
            name: "tools",
            request: prompt().tools(vec![lookup()]),
            on_wire: &["lookup", "Looks up a birch.", "path"],
            flag: |able| &mut able.tools,
        },
        AbilityNeed {
            name: "a response format",
            request: prompt().response_format(format),
            on_wire: &["town", "year"],
            flag: |able| &mut able.structured_output,
        },
    ]
}

pub(super) async fn missing(suite: &CheckSuite<'_>) -> CheckVerdict {
    let declared = suite.capabilities()?;
    let mut rows = VerdictRows::default();
    for need in needs() {
        let mut lacking = declared;
        let is_declared = std::mem::replace((need.flag)(&mut lacking), false);
        // A provider that does not declare the capability is tested without a change of its setup.
        let trial = suite.trial(|setup| setup.capabilities = is_declared.then_some(lacking))?;
        let mut now = trial.provider.info().capabilities;
        if *(need.flag)(&mut now) {
            rows.add(need.name, Err(absent("what the model can do cannot be set")));
            continue;
        }
        trial.reply(ServerReply::pieces(suite.plain(&Answer::text(["Amber"]))?));
        let run = trial.run(need.request).await;
        let is_told = matches!(run.error, Some(ProviderError::Unsupported { .. }));
        let verdict = hold(is_told, || format!("it ends with {}", run.error_line()))
            .and(hold(trial.server.count() == 0, || "the request is sent".to_owned()));
        rows.add(need.name, verdict);
    }
    rows.verdict()
}

pub(super) async fn declared(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut declared = suite.capabilities()?;
    let mut rows = VerdictRows::default();
    for need in needs() {
        if !*(need.flag)(&mut declared) {
            rows.add(need.name, Err(absent("the provider declares none of them")));
            continue;
        }
        let trial = answering(suite)?;
        let run = trial.run(need.request).await;
        let body = trial.server.asked().first().map(ReceivedRequest::body);
        let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
        let lost: Vec<_> = need.on_wire.iter().filter(|word| !body.contains(**word)).collect();
        let verdict = hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))
            .and(hold(lost.is_empty(), || format!("{lost:?} is not in the request: {body}")));
        rows.add(need.name, verdict);
    }
    rows.verdict()
}

/// Builds a provider whose server returns a plain answer.
pub(super) fn answering(suite: &CheckSuite<'_>) -> Result<ProviderTrial, CheckMiss> {
    let trial = suite.trial(|_| ())?;
    trial.reply(ServerReply::pieces(suite.plain(&Answer::text(["Amber"]))?));
    Ok(trial)
}
