//! A format of Server-Sent Events that the library does not know.

use crate::{BodyDecoder as _, Progress, ProviderError, SseAnswer, SseBody, SseFormat};
use forgeline_types::{FinishReason, UsageInfo};
use serde_json::Value;

/// A format with an event for each thing: its name says what the data is.
#[derive(Debug, Default)]
struct Steps;

impl SseFormat for Steps {
    const NAME: &'static str = "steps";

    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut SseAnswer<'_>,
    ) -> serde_json::Result<()> {
        let value: Value = serde_json::from_str(data)?;
        match name {
            "say" => answer.text(value.as_str().unwrap_or_default()),
            "think" => answer.thinking(value.as_str().unwrap_or_default()),
            "used" => answer.usage(UsageInfo::default().output_tokens(3), value),
            "end" => answer.finish(value.as_str().unwrap_or_default()),
            "problem" => answer.fail(data),
            _ => answer.unknown(name, data),
        }
        Ok(())
    }
}

/// Returns the chunks of a body in pieces of this size, and how it ended.
fn read(
    body: &str,
    size: usize,
) -> (Vec<String>, Option<FinishReason>, Progress, Result<(), ProviderError>) {
    let (mut decoder, mut parts, mut reason) = (SseBody::<Steps>::default(), Vec::new(), None);
    let mut emit = |chunk: crate::StreamChunk| {
        let events = chunk.details.iter().flat_map(|it| &it.events);
        parts.extend(events.map(|event| event.kind().to_owned()));
        if !chunk.content.is_empty() {
            parts.push(format!("{:?} {}", chunk.content_type, chunk.content));
        }
        if let Some(usage) = chunk.usage {
            let raw = chunk.details.as_ref().and_then(|it| it.usage_raw.as_ref()).unwrap();
            parts.push(format!("{:?} of {raw}", usage.output_tokens));
        }
        reason = chunk.finish_reason.or(reason.take());
    };
    let pushed = body.as_bytes().chunks(size).try_for_each(|piece| decoder.push(piece, &mut emit));
    let progress = decoder.progress();
    let ended = pushed.and_then(|()| decoder.finish(&mut emit));
    (parts, reason, progress, ended)
}

const WHOLE: &str = "event: think\ndata: \"Hm.\"\n\nevent: say\ndata: \"It is é.\"\n\n\
    event: weather\ndata: {\"is\":\"rain\"}\n\nevent: used\ndata: [1,3]\n\nevent: end\ndata: \"length\"\n\n";

#[test]
fn an_answer_is_read_alike_in_pieces_of_any_size() {
    for size in 1..=WHOLE.len() {
        let (parts, reason, progress, ended) = read(WHOLE, size);
        let want = ["Thinking Hm.", "Message It is é.", "provider_item", "Some(3) of [1,3]"];
        assert_eq!(parts, want, "{size}");
        assert_eq!((reason, progress), (Some(FinishReason::Length), Progress::Complete), "{size}");
        ended.unwrap();
    }
}

#[test]
fn what_goes_wrong_is_the_error_that_it_is() {
    let say = "event: say\ndata: \"Hi\"\n\n";
    let (parts, _, _, cut) = read(say, 5);
    assert_eq!(parts, ["Message Hi"]);
    assert!(
        matches!(cut, Err(ProviderError::EndedEarly { received }) if received == say.len() as u64)
    );

    let (_, _, _, torn) = read(&format!("{say}event: say\ndata: \"Hi\n\n"), 5);
    assert!(
        matches!(torn, Err(ProviderError::Decode { offset, .. }) if offset == say.len() as u64)
    );

    let problem = "event: problem\ndata: {\"message\":\"no paper\"}\n\n";
    let (parts, _, progress, failed) = read(&format!("{say}{problem}"), 5);
    assert_eq!((parts.len(), progress), (1, Progress::Failed));
    assert!(failed.unwrap_err().to_string().contains("no paper"));

    let (_, _, _, page) = read("<html>Log in</html>", 5);
    assert!(page.unwrap_err().to_string().contains("a web page"));
}
