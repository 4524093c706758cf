//! The content of answers.

use std::time::Duration;

use bytes::Bytes;

use crate::conformance::{
    harness::{
        Answer, AnswerPart, BodyStep, CheckSuite, RequestRun, SeenAnswer, SeenPiece, ServerReply,
    },
    verdict::{CheckVerdict, VerdictRows, absent, hold},
};
use forgeline_llm::ContentType;
use forgeline_types::FinishReason;

/// The pause between two frames.
const PACE: Duration = Duration::from_millis(1);

pub(super) const WORDS: [&str; 5] =
    ["Amber", " birch \"bark\"", "\n\n- cedar\\n", " naïve 🦀", " data: [DONE] end."];

/// Sends each frame by itself, followed by a pause.
fn paced(frames: &[Bytes]) -> ServerReply {
    let steps =
        frames.iter().flat_map(|frame| [BodyStep::Bytes(frame.clone()), BodyStep::Wait(PACE)]);
    ServerReply::steps(steps.collect())
}

/// Fails unless each delta arrives before the next frame is sent.
fn in_time(run: &RequestRun, frames: &[Bytes], deltas: &[&str], kind: ContentType) -> CheckVerdict {
    let mut want = String::new();
    let mut from = 0;
    for delta in deltas {
        want.push_str(delta);
        let written = serde_json::Value::from(*delta).to_string();
        let written = written.trim_matches('"').as_bytes();
        let holds = |frame: &Bytes| frame.windows(written.len()).any(|window| window == written);
        let Some(at) = frames.iter().skip(from).position(holds) else { continue };
        from += at;
        let time = PACE * u32::try_from(from).unwrap_or(u32::MAX);
        let seen = run.until(time).content(kind);
        hold(seen == want, || {
            format!("when the frame with {delta:?} has come, {seen:?} was seen instead of {want:?}")
        })?;
        from += 1;
    }
    Ok(())
}

fn whole(run: &RequestRun) -> CheckVerdict {
    hold(run.error.is_none(), || format!("it ends with {}", run.error_line()))?;
    hold(run.seen().finished, || "no chunk says that the answer is whole".to_owned())
}

pub(super) async fn text_streams(suite: &CheckSuite<'_>) -> CheckVerdict {
    let frames = suite.plain(&Answer::text(WORDS))?;
    hold(frames.len() >= WORDS.len(), || "not each delta has a frame of its own".to_owned())?;
    let run = suite.ask(paced(&frames)).await?;
    whole(&run)?;
    let (seen, want) = (run.seen().text(), WORDS.concat());
    hold(seen == want, || format!("the text is {seen:?} instead of {want:?}"))?;
    in_time(&run, &frames, &WORDS, ContentType::Message)
}

pub(super) async fn thinking(suite: &CheckSuite<'_>) -> CheckVerdict {
    let thoughts = ["Let me", " see: 6 × 7", "\nis 42."];
    let answer = Answer::thinking(&thoughts, None).part(AnswerPart::Text(vec!["42.".to_owned()]));
    let frames = suite.frames(&answer, "reasoning")?;
    let run = suite.ask(paced(&frames)).await?;
    whole(&run)?;
    let seen = run.seen();
    let want = [
        SeenPiece::Content(ContentType::Thinking, thoughts.concat()),
        SeenPiece::Content(ContentType::Message, "42.".to_owned()),
    ];
    let is_content = |piece: &&SeenPiece| matches!(piece, SeenPiece::Content(..));
    let pieces: Vec<_> = seen.pieces.iter().filter(is_content).cloned().collect();
    hold(pieces == want, || format!("seen were {pieces:?} instead of {want:?}"))?;
    in_time(&run, &frames, &thoughts, ContentType::Thinking)
}

pub(super) async fn refusal(suite: &CheckSuite<'_>) -> CheckVerdict {
    let words = ["I cannot", " help with that."];
    let frames = suite.frames(&Answer::refusal(&words), "refusals in words")?;
    let run = suite.ask(paced(&frames)).await?;
    whole(&run)?;
    let seen = run.seen();
    let (refusal, text) = (seen.content(ContentType::Refusal), seen.text());
    hold(refusal == words.concat() && text.is_empty(), || {
        format!("the refusal is {refusal:?} and the text {text:?}")
    })
}

/// Returns answers that together use all features of the protocol.
fn rich(suite: &CheckSuite<'_>) -> Vec<(&'static str, Vec<Bytes>)> {
    let text = Answer::text(WORDS);
    let thinking = Answer::thinking(&["Hm, ", "naïve."], Some("c2lnbmVk"))
        .part(AnswerPart::Text(vec!["Yes".to_owned(), " 🦀".to_owned()]));
    let unsigned = Answer::thinking(&["Hm"], None).part(AnswerPart::Text(vec!["Yes".to_owned()]));
    let calls = super::calls::two_calls();
    let answers = [
        ("text", text),
        ("signed thinking", thinking),
        ("thinking", unsigned),
        ("refusal", Answer::refusal(&["No", "."])),
        ("calls", calls.clone().finish(FinishReason::ToolCalls)),
        ("calls", calls),
        ("error", Answer::text(["Amber"]).error("server_error", "it broke")),
    ];
    let written = answers.into_iter().filter_map(|(name, answer)| {
        let frames = suite.subject.answer(&answer)?;
        Some((name, frames))
    });
    written.collect()
}

pub(super) async fn any_cut(suite: &CheckSuite<'_>) -> CheckVerdict {
    let mut rows = VerdictRows::default();
    for (name, frames) in rich(suite) {
        rows.add(name, every_cut(suite, &frames.concat()).await);
    }
    rows.verdict()
}

async fn every_cut(suite: &CheckSuite<'_>, body: &[u8]) -> CheckVerdict {
    let trial = suite.trial(|_| ())?;
    let body = Bytes::copy_from_slice(body);
    let told = |run: &RequestRun| (run.seen(), run.error.as_ref().map(ToString::to_string));
    let want = told(&trial.ask(ServerReply::pieces([body.clone()])).await);
    let same = |got: &(SeenAnswer, Option<String>), how: String| {
        hold(*got == want, || format!("{how}, it is {got:?} instead of {want:?}"))
    };
    let bytes = (0..body.len()).map(|at| body.slice(at..=at));
    same(&told(&trial.ask(ServerReply::pieces(bytes)).await), "byte by byte".to_owned())?;
    for at in 1..body.len() {
        let run = trial.ask(ServerReply::pieces([body.slice(..at), body.slice(at..)])).await;
        same(&told(&run), format!("cut at byte {at}"))?;
    }
    Ok(())
}

pub(super) async fn unknown_events(suite: &CheckSuite<'_>) -> CheckVerdict {
    let Some(unknown) = suite.subject.unknown() else {
        return Err(absent("the subject gives no unknown event"));
    };
    let frames = suite.plain(&Answer::text(WORDS))?;
    let strewn = frames.iter().flat_map(|frame| [unknown.clone(), frame.clone()]);
    let run = suite.ask(ServerReply::pieces(strewn)).await?;
    whole(&run)?;
    let (seen, want) = (run.seen().text(), WORDS.concat());
    hold(seen == want, || format!("among unknown events, the text is {seen:?}"))
}
