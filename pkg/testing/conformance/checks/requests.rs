//! The requests that are sent.

use std::time::Duration;

use bytes::Bytes;

use super::abilities::{answering, lookup};
use crate::conformance::{
    harness::{
        Answer, AnswerPart, CheckSuite, MODEL, ProviderTrial, ReceivedRequest, RequestRun,
        ServerReply,
    },
    verdict::{CheckMiss, CheckVerdict, VerdictRows, absent, hold},
};
use forgeline_json::subslice;
use forgeline_llm::{PromptCache, Provider as _, Request};
use forgeline_types::{Message, MessageRole, Part, Signature, ToolCall, ToolResult, Transcript};

/// Returns a request with a system prompt, options and tools.
fn request(messages: Transcript, has_tools: bool) -> Request {
    let request = Request::new(messages).system("Be brief.").max_tokens(64).temperature(0.5);
    if has_tools { request.tools(vec![lookup()]) } else { request }
}

fn conversation() -> Vec<Message> {
    let asked = ["What grows here?", "And there?", "Nothing \"else\"?", "Naïve 🦀?"];
    let answers = ["Birches.", "Cedars\nand pines.", "No.", "Yes."];
    let pairs = asked.iter().zip(answers);
    pairs.flat_map(|(asked, said)| [Message::user(*asked), Message::assistant(said)]).collect()
}

/// Returns the body of the provider's next request.
async fn body(
    trial: &ProviderTrial,
    suite: &CheckSuite<'_>,
    request: Request,
) -> Result<Vec<u8>, CheckMiss> {
    trial.reply(ServerReply::pieces(suite.plain(&Answer::text(["Amber"]))?));
    let run = trial.run(request).await;
    hold(run.error.is_none(), || format!("the request ends with {}", run.error_line()))?;
    Ok(trial.server.asked().last().map(ReceivedRequest::body).unwrap_or_default())
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

pub(super) async fn same_bytes(suite: &CheckSuite<'_>) -> CheckVerdict {
    let able = suite.capabilities()?;
    let mut rows = VerdictRows::default();
    for (row, cache) in [("plain", None), ("with cache marks", Some(PromptCache::Marks))] {
        if cache.is_some() && !able.prompt_caching {
            continue;
        }
        let asked = || {
            let messages = conversation().into_iter().take(5).collect();
            let request = request(messages, able.tools);
            cache.into_iter().fold(request, Request::cache)
        };
        let (one, other) = (suite.trial(|_| ())?, suite.trial(|_| ())?);
        let request = asked();
        let first = body(&one, suite, request.clone()).await?;
        tokio::time::sleep(Duration::from_secs(90)).await;
        let again = [
            ("sent again", body(&one, suite, request).await?),
            ("made again", body(&one, suite, asked()).await?),
            ("of another provider", body(&other, suite, asked()).await?),
        ];
        for (how, bytes) in again {
            let verdict = hold(bytes == first, || {
                format!("{how}, it is {} instead of {}", shown(&bytes), shown(&first))
            });
            rows.add(row, verdict);
        }
        if cache.is_some() {
            let plain = body(
                &one,
                suite,
                self::request(conversation().into_iter().take(5).collect(), able.tools),
            )
            .await?;
            rows.add(row, hold(plain != first, || "no mark is in the request".to_owned()));
        }
    }
    rows.verdict()
}

pub(super) async fn append_only(suite: &CheckSuite<'_>) -> CheckVerdict {
    let has_tools = suite.capabilities()?.tools;
    let trial = suite.trial(|_| ())?;
    let mut rows = VerdictRows::default();
    let mut history = Transcript::default();
    let mut before = Vec::new();
    for message in conversation() {
        let is_turn = message.role == MessageRole::User;
        history.push(message);
        if !is_turn {
            continue;
        }
        let now = body(&trial, suite, request(history.clone(), has_tools)).await?;
        let same = before.iter().zip(&now).take_while(|(old, new)| old == new).count();
        let rest = subslice(&before, same..);
        let is_closing = rest.iter().all(|byte| b"]} \n".contains(byte));
        let row = format!("{} messages", history.len());
        rows.add(
            &row,
            hold(is_closing, || {
                format!("of the turn before, {:?} is not at its place", shown(rest))
            }),
        );
        let fresh = body(
            &suite.trial(|_| ())?,
            suite,
            request(history.iter().map(|message| (**message).clone()).collect(), has_tools),
        )
        .await?;
        rows.add(
            &row,
            hold(fresh == now, || {
                format!("grown, it is {} and afresh {}", shown(&now), shown(&fresh))
            }),
        );
        before = now;
    }
    rows.verdict()
}

pub(super) async fn signature_returns(suite: &CheckSuite<'_>) -> CheckVerdict {
    const PROOF: &str = "RW1wdHkgYmlyY2ggcHJvb2Y";
    let answer = Answer::thinking(&["Let me", " see."], Some(PROOF));
    let answer = answer.part(AnswerPart::Text(vec!["Birches.".to_owned()]));
    let frames = suite.frames(&answer, "proofs of reasoning")?;
    let body = next_body(suite, frames, &[]).await?;
    hold(body.contains(PROOF), || format!("the proof is not in the next request: {body}"))?;
    hold(body.contains("Birches."), || format!("the answer is not in the next request: {body}"))
}

pub(super) async fn foreign_signature(suite: &CheckSuite<'_>) -> CheckVerdict {
    const PROOF: &str = "QW4gYWxpZW4ncyBwcm9vZg";
    let has_tools = suite.capabilities()?.tools;
    let signature = || Some(Signature::new("another-vendor", PROOF));
    let mut parts = vec![Part::thinking("Let me see.", signature()), Part::text("Birches.")];
    let mut history = vec![Message::user("What grows here?")];
    if has_tools {
        let mut call = ToolCall::new("call_amber", "lookup", serde_json::json!({}));
        call.signature = signature();
        parts.push(Part::ToolCall(call));
        history.push(Message::new(MessageRole::Assistant, parts));
        let result = ToolResult::new("call_amber", "lookup", "Three birches.");
        history.push(Message::new(MessageRole::Tool, vec![Part::ToolResult(result)]));
    } else {
        history.push(Message::new(MessageRole::Assistant, parts));
        history.push(Message::user("And there?"));
    }
    let trial = suite.trial(|_| ())?;
    let body = shown(&body(&trial, suite, request(history.into(), has_tools)).await?);
    hold(body.contains("Birches."), || format!("the answer is not in the request: {body}"))?;
    hold(!body.contains(PROOF), || format!("another vendor's proof is in the request: {body}"))
}

pub(super) async fn results_return(suite: &CheckSuite<'_>) -> CheckVerdict {
    if !suite.capabilities()?.tools {
        return Err(absent("the provider declares no native tools"));
    }
    let answer = super::calls::two_calls();
    let frames = suite.call_frames(&answer)?;
    let wire = String::from_utf8_lossy(&frames.concat()).into_owned();
    let results = ["Three birches.", "A sum of five."];
    let body = next_body(suite, frames, &results).await?;
    let lost = |words: &[&str]| -> Vec<String> {
        words.iter().filter(|word| !body.contains(**word)).map(|word| (*word).to_owned()).collect()
    };
    let mut lost_words = lost(&results);
    lost_words.extend(lost(&["lookup", "add", "naïve/ä b.txt", "deep"]));
    for id in ["call_amber", "call_birch"] {
        // Twice: in the call, and in the result that answers it.
        if wire.contains(id) && body.matches(id).count() < 2 {
            lost_words.push(id.to_owned());
        }
    }
    hold(lost_words.is_empty(), || format!("{lost_words:?} is not in the next request: {body}"))
}

/// Returns the body of the request that follows an answer with these frames and these results of its calls.
async fn next_body(
    suite: &CheckSuite<'_>,
    frames: Vec<Bytes>,
    results: &[&str],
) -> Result<String, CheckMiss> {
    let trial = suite.trial(|_| ())?;
    let mut history = Transcript::from(vec![Message::user("What grows here?")]);
    let has_tools = suite.capabilities()?.tools;
    trial.reply(ServerReply::pieces(frames));
    let run = trial.run(request(history.clone(), has_tools)).await;
    let completion = run.completion().await;
    let completion = completion.map_err(|error| CheckMiss::Fails(vec![error.to_string()]))?;
    let calls = completion.tool_calls.clone();
    history.push(completion.into_message());
    if results.is_empty() {
        history.push(Message::user("And there?"));
    } else {
        let answers = calls.iter().zip(results);
        let answers = answers.map(|(call, result)| {
            Part::ToolResult(ToolResult::new(call.id.clone(), call.name.clone(), *result))
        });
        history.push(Message::new(MessageRole::Tool, answers.collect()));
    }
    Ok(shown(&body(&trial, suite, request(history, has_tools)).await?))
}

pub(super) async fn with_model(suite: &CheckSuite<'_>) -> CheckVerdict {
    let trial = answering(suite)?;
    let Some(other) = trial.provider.with_model("another-model") else {
        return Err(absent("the provider has only one model"));
    };
    let models = [other.info().model.clone(), trial.provider.info().model.clone()];
    hold(models[0] == "another-model" && models[1] == MODEL, || format!("they name {models:?}"))?;
    let run = RequestRun::send(&*other, Request::prompt("What grows here?")).await;
    let text = run.seen().text();
    hold(text == "Amber", || format!("the answer is {text:?}, and {}", run.error_line()))?;
    let named = |model: &str| {
        let asked = trial.server.asked();
        asked.last().is_some_and(|asked| {
            asked.http.url.contains(model) || shown(&asked.body()).contains(model)
        })
    };
    hold(named("another-model") && !named(MODEL), || {
        "the request does not name the other model".to_owned()
    })
}
