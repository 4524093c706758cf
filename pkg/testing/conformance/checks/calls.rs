//! Native tool calls.

use crate::conformance::{
    harness::{Answer, CheckSuite, ServerReply},
    verdict::{CheckMiss, CheckVerdict, absent, hold},
};
use forgeline_types::{Json, ToolCall};

const FIRST: (&str, &str, &[&str]) =
    ("call_amber", "lookup", &[r#"{"path":"#, r#""naïve/ä b.txt","#, r#""scale":1.0}"#]);
const SECOND: (&str, &str, &[&str]) =
    ("call_birch", "add", &[r#"{"z":[1,2],"#, r#""a":{"deep":tr"#, "ue}}"]);

/// Returns an answer with two parallel calls.
pub(super) fn two_calls() -> Answer {
    Answer::calls(&[FIRST, SECOND])
}

pub(super) async fn parallel_calls(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.call_frames(&two_calls())?;
    let wire = frames.concat();
    let run = suite.ask(ServerReply::pieces(frames)).await?;
    hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))?;
    let seen = run.seen();
    hold(seen.calls.len() == 2, || format!("{} calls were seen instead of 2", seen.calls.len()))?;
    for (at, (call, (id, name, arguments))) in seen.calls.iter().zip([FIRST, SECOND]).enumerate() {
        hold(call.index as usize == at, || format!("call {at} has the index {}", call.index))?;
        hold(call.name == name, || format!("call {at} is of {:?}, not {name:?}", call.name))?;
        let want = arguments.concat();
        hold(call.arguments == want, || {
            format!("the arguments of call {at} are {:?} instead of {want:?}", call.arguments)
        })?;
        let has_ids = wire.windows(id.len()).any(|window| window == id.as_bytes());
        hold(!has_ids || call.id.as_deref() == Some(id), || {
            format!("the id of call {at} is {:?} instead of {id:?}", call.id)
        })?;
    }
    let completion = run.completion().await;
    let completion = completion.map_err(|error| CheckMiss::Fails(vec![error.to_string()]))?;
    hold(completion.tool_calls.iter().all(ToolCall::is_complete), || {
        format!("joined, they are {:?}", completion.tool_calls)
    })
}

pub(super) async fn without_arguments(suite: &CheckSuite<'_>) -> CheckVerdict {
    if !suite.capabilities()?.tools {
        return Err(absent("the provider declares no native tools"));
    }
    let frames = suite.call_frames(&Answer::calls(&[("call_cedar", "now", &[])]))?;
    let run = suite.ask(ServerReply::pieces(frames)).await?;
    hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))?;
    let completion = run.completion().await;
    let calls = completion.map(|completion| completion.tool_calls).unwrap_or_default();
    let arguments = calls.first().and_then(|call| call.arguments.as_ref()).map(Json::as_str);
    hold(calls.len() == 1 && arguments == Some("{}"), || {
        format!("the calls are {calls:?} instead of one with the arguments {{}}")
    })
}
