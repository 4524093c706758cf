use super::OllamaDecoder;
use crate::{BodyDecoder as _, ProviderError, sse::SseLimits};

const LINE: &str = "{\"model\":\"m:1b\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"}}\n";

#[test]
fn a_line_that_is_too_long_is_an_error() {
    let mut small = OllamaDecoder::new(SseLimits::default().max_line_bytes(10));
    let error = small.push(LINE.as_bytes(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, ProviderError::Decode { offset: 0, .. }), "{error:?}");
}

#[test]
fn who_answers_is_told_once() {
    let mut decoder = OllamaDecoder::default();
    let mut told = Vec::new();
    decoder
        .push([LINE, LINE, "{\"done\":true}\n"].concat().as_bytes(), &mut |chunk| {
            let model = chunk.details.and_then(|details| details.model);
            told.extend(chunk.role.map(|role| format!("{role:?} {model:?}")));
        })
        .unwrap();
    assert_eq!(told, [r#"Assistant Some("m:1b")"#]);
}
