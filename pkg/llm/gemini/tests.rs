use crate::{
    Protocol,
    protocols::tests::chunk_words::{body, read},
};

#[test]
fn a_list_that_is_cut_gives_what_it_has() {
    let list = "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}],\"role\":\"model\"},\"index\":0}]}\n,\r\n\
                {\"candidates\":[{\"finishReason\":\"STOP\"}]}]\n";
    for cut in 1..list.len() - 3 {
        let (got, error) = read(Protocol::Gemini, [list.as_bytes().get(..cut).unwrap()]);
        let is_cut = got.is_empty() || got == "m:a" || got == "m:a end:stop .";
        assert!(is_cut, "{cut}: {got}");
        assert_eq!(error.is_none(), got.ends_with("end:stop ."), "{cut}: {error:?}");
    }
}

#[test]
fn an_answer_wrapped_without_end_fills_no_stack() {
    let wrapped = format!("{}1{}", "{\"response\":".repeat(100_000), "}".repeat(100_000));
    let (got, error) = read(Protocol::Gemini, [body(Protocol::Gemini, &[wrapped]).as_slice()]);
    assert!(got.is_empty() && error.is_some(), "{error:?}");
}
