use super::ResponsesDecoder;
use crate::{
    BodyDecoder as _, Protocol, ProviderError,
    protocols::tests::chunk_words::{body, read},
};

const PROTOCOL: Protocol = Protocol::OpenAiResponses;

fn added(index: u32, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.added","output_index":{index},"item":{{{item}}}}}"#)
}

#[test]
fn the_protocol_is_guessed_from_any_beginning() {
    let text = r#"data: {"type":"response.output_text.delta","delta":"a"}"#;
    let pretty =
        "{\n  \"id\": \"resp_1\",\n  \"object\": \"response\",\n  \"status\": \"completed\"\n}";
    for body in [pretty, text, &added(0, r#""type":"message""#)] {
        assert_eq!(Protocol::guess(body.as_bytes()), PROTOCOL);
    }
}

#[test]
fn every_part_of_a_long_answer_is_told() {
    let parts: Vec<_> =
        (0..200).map(|at| format!(r#"{{"type":"output_text","text":"{at},"}}"#)).collect();
    let item = format!(r#""type":"message","content":[{}]"#, parts.join(","));
    let done = added(0, &item).replace("added", "done");
    let want: Vec<_> = (0..200).map(|at| format!("{at},")).collect();
    let (got, _) = read(PROTOCOL, [body(PROTOCOL, &[done]).as_slice()]);
    let got = got.split(" [").next().unwrap();
    assert_eq!(got, format!("m:{}", want.concat()));
}

#[test]
fn beginnings_that_are_kept_are_bounded() {
    let mut decoder = ResponsesDecoder::default();
    let long = format!(r#""type":"x","a":"{}""#, "x".repeat(1 << 20));
    let refused = (0..40)
        .position(|at| decoder.push(&body(PROTOCOL, &[added(at, &long)]), &mut |_| {}).is_err());
    assert_eq!(refused, Some(15), "16 MiB are kept");
}

#[test]
fn a_response_of_endless_items_is_refused() {
    let mut decoder = ResponsesDecoder::default();
    let body = body(PROTOCOL, &[added(0, r#""type":"x""#).replace(r#""output_index":0,"#, "")]);
    let refused = (0..10_000).find_map(|_| decoder.push(&body, &mut |_| {}).err());
    assert!(matches!(refused, Some(ProviderError::Decode { .. })), "{refused:?}");
}
