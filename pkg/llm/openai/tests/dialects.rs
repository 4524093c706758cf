//! Members that only some servers of Chat Completions send.

use super::{calls, delta, read, sse};
use crate::{
    BodyDecoder as _, ProviderError,
    openai::{OpenAiDecoder, PROMPT_PROGRESS},
};
use forgeline_types::{AgentEvent, ErrorCode, Json};

const END: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

/// Reads the events at every cut; all must give `want`, and no error.
fn check(cases: &[(&str, Vec<String>, &str)]) {
    for (name, events, want) in cases {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let body = sse(&events);
        for at in 0..body.len() {
            let (start, rest) = body.split_at(at);
            let (got, error) = read([start, rest]);
            assert_eq!(got, *want, "{name} cut at {at}");
            assert_eq!(error.is_none(), want.contains("end:"), "{name}: {error:?}");
        }
    }
}

fn whole(message: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"message":{{{message}}},"finish_reason":"stop"}}]}}"#)
}

// Found: V3, V15
#[test]
fn what_a_server_wants_back_with_a_call_is_its_signature() {
    let google = r#"{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"S"}},"function":{"name":"f","arguments":"{}"}}"#;
    let late = r#"{"index":0,"extra_content":{"google":{"thought_signature":"S"}}}"#;
    let next = r#"{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#;
    let more = r#"{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"S","x":1}},"function":{"name":"f","arguments":"{}"}}"#;
    let of_proxy = r#"{"index":0,"id":"a","provider_specific_fields":{"thought_signature":"S"},"function":{"name":"f","arguments":"{}"}}"#;
    let none = r#"{"index":0,"id":"a","extra_content":null,"provider_specific_fields":{},"function":{"name":"f","arguments":"{}"}}"#;
    check(&[
        ("google", vec![calls(google), END.into()], "c0#a:f({})[S] end:stop"),
        (
            "parallel",
            vec![calls(&format!("{google},{next}")), END.into()],
            "c0#a:f({})[S] c1#b:g({}) end:stop",
        ),
        (
            "late",
            vec![calls(&format!("{next},{google}")), calls(late), END.into()],
            "c0#b:g({}) c1#a:f({})[S] end:stop",
        ),
        (
            "more",
            vec![calls(more), END.into()],
            r#"c0#a:f({})[{"extra_content":{"google":{"thought_signature":"S","x":1}}}] end:stop"#,
        ),
        (
            "LiteLLM",
            vec![calls(of_proxy), END.into()],
            r#"c0#a:f({})[{"provider_specific_fields":{"thought_signature":"S"}}] end:stop"#,
        ),
        ("none", vec![calls(none), END.into()], "c0#a:f({}) end:stop"),
        ("whole", vec![whole(&format!(r#""tool_calls":[{google}]"#))], "c0#a:f({})[S] end:stop"),
    ]);
}

// Found: V5
#[test]
fn a_transcript_is_text_and_audio_an_item() {
    let audio = |audio: &str| delta(&format!(r#""audio":{{{audio}}}"#));
    check(&[
        (
            "pieces",
            vec![
                audio(r#""id":"au","transcript":"Hel""#),
                audio(r#""transcript":"lo""#),
                audio(r#""data":"AAAA""#),
                audio(r#""data":"BB==""#),
                audio(r#""expires_at":7"#),
                END.into(),
            ],
            r#"m:Hello i:media{"audio":{"id":"au","transcript":"Hello","data":"AAAABB==","expires_at":7}} end:stop"#,
        ),
        (
            "padded pieces",
            vec![audio(r#""data":"AA==""#), audio(r#""data":"BB==""#), END.into()],
            r#"i:media{"audio":{"data":"AA=="}} i:media{"audio":{"data":"BB=="}} end:stop"#,
        ),
        (
            "whole",
            vec![whole(r#""content":null,"audio":{"id":"au","data":"AA==","transcript":"Hi"}"#)],
            r#"m:Hi i:media{"audio":{"id":"au","data":"AA==","transcript":"Hi"}} end:stop"#,
        ),
        ("none", vec![delta(r#""content":"a","audio":null"#), END.into()], "m:a end:stop"),
    ]);
}

// Found: V6
#[test]
fn a_message_counts_where_the_deltas_say_nothing() {
    let both = |delta: &str, message: &str| {
        format!(r#"{{"choices":[{{"delta":{{{delta}}},"message":{{{message}}}}}]}}"#)
    };
    let said = |text: &str| format!(r#""role":"assistant","content":"{text}""#);
    check(&[
        ("alone", vec![both(&said(""), &said("Hi")), END.into()], "m:Hi end:stop"),
        (
            "grows",
            vec![
                both(&said(""), &said("H")),
                both("", &said("Hi")),
                both("", &said("Hi")),
                END.into(),
            ],
            "m:Hi end:stop",
        ),
        (
            "repeats",
            vec![
                both(&said("H"), &said("H")),
                both(&said("i"), &said("Hi")),
                both("", &said("Hi")),
                END.into(),
            ],
            "m:Hi end:stop",
        ),
        (
            "calls",
            vec![
                both(
                    "",
                    r#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
                ),
                both(
                    "",
                    r#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
                ),
                END.into(),
            ],
            "c0#a:f({}) end:stop",
        ),
    ]);
}

// Found: V9, V15
#[test]
fn reasoning_in_a_vendor_s_own_members_is_kept_for_it() {
    let blocks = |list: &str| delta(&format!(r#""thinking_blocks":[{list}]"#));
    let summary = |text: &str, proof: &str| {
        delta(&format!(
            r#""content":[{{"type":"reasoning","summary":[{{"type":"summary_text","text":"{text}","signature":"{proof}"}}]}}]"#
        ))
    };
    check(&[
        (
            "Copilot",
            vec![
                delta(r#""reasoning_text":"a""#),
                delta(r#""content":"b","reasoning_opaque":"O""#),
                END.into(),
            ],
            r#"t:a s:reasoning_text m:b i:reasoning{"reasoning_opaque":"O"} end:stop"#,
        ),
        (
            "Copilot, with a call",
            vec![
                delta(
                    r#""reasoning_text":"a","reasoning_opaque":"O","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
                ),
                END.into(),
            ],
            r#"t:a s:reasoning_text c0#a:f({}) i:reasoning{"reasoning_opaque":"O"} end:stop"#,
        ),
        (
            "LiteLLM",
            vec![
                delta(
                    r#""reasoning_content":"a","thinking_blocks":[{"type":"thinking","thinking":"a","signature":null}],"provider_specific_fields":{"thinking_blocks":[{"type":"thinking","thinking":"a"}]}"#,
                ),
                delta(
                    r#""content":"","thinking_blocks":[{"type":"thinking","thinking":"","signature":"S"}]"#,
                ),
                blocks(
                    r#"{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"b"}"#,
                ),
                delta(r#""content":"c""#),
                END.into(),
            ],
            r#"t:a m:c i:reasoning{"thinking_blocks":[{"type":"thinking","thinking":"a","signature":"S"},{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"b"}]} end:stop"#,
        ),
        (
            "LiteLLM, blocks alone",
            vec![
                blocks(r#"{"type":"thinking","thinking":"a"}"#),
                blocks(r#"{"type":"thinking","thinking":"b","signature":"S"}"#),
                END.into(),
            ],
            r#"t:ab i:reasoning{"thinking_blocks":[{"type":"thinking","thinking":"ab","signature":"S"}]} end:stop"#,
        ),
        (
            "Databricks",
            vec![
                summary("a", ""),
                summary("b", ""),
                summary("", "S"),
                delta(r#""content":"c""#),
                END.into(),
            ],
            r#"t:ab m:c i:reasoning{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"ab","signature":"S"}]}]} end:stop"#,
        ),
        (
            "Google's text",
            vec![
                delta(r#""content":"a","extra_content":{"google":{"thought_signature":"S"}}"#),
                END.into(),
            ],
            r#"m:a i:reasoning{"extra_content":{"google":{"thought_signature":"S"}}} end:stop"#,
        ),
    ]);
}

// Found: V10, V15
#[test]
fn pictures_references_and_other_parts_are_items_in_their_place() {
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#;
    let reference = r#"{"type":"reference","reference_ids":[0,2]}"#;
    let other = r#"{"type":"document_url","document_url":"u"}"#;
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let content = |parts: &[&str]| delta(&format!(r#""content":[{}]"#, parts.join(",")));
    check(&[
        (
            "images",
            vec![
                delta(&format!(r#""content":"a","images":[{picture}]"#)),
                delta(r#""content":"b""#),
                END.into(),
            ],
            &format!("m:a i:media{picture} m:b end:stop"),
        ),
        (
            "in a message",
            vec![whole(&format!(r#""content":"a","images":[{picture}]"#))],
            &format!("m:a i:media{picture} end:stop"),
        ),
        (
            "parts",
            vec![
                content(&[&text("a"), picture, &text("b"), reference, "\"c\"", other]),
                END.into(),
            ],
            &format!(
                "m:a i:media{picture} m:b i:citation{reference} i:citation{reference} m:c i:other{other} end:stop"
            ),
        ),
        (
            "parts of a thought",
            vec![
                content(&[
                    &format!(r#"{{"type":"thinking","thinking":[{},{reference}]}}"#, text("a")),
                    &text("b"),
                ]),
                END.into(),
            ],
            &format!("t:a i:citation{reference} i:citation{reference} m:b end:stop"),
        ),
        ("none", vec![delta(r#""content":"a","images":[]"#), END.into()], "m:a end:stop"),
        (
            "a member twice",
            vec![
                delta(
                    r#""content":[{"type":"text","text":"a"}],"content":[{"type":"text","text":"b"}]"#,
                ),
                END.into(),
            ],
            "m:b end:stop",
        ),
    ]);
}

// Found: V11, V13
#[test]
fn calls_may_have_a_text_and_empty_ones_are_none() {
    let custom = |index: u32, id: &str, custom: &str| {
        calls(&format!(r#"{{"index":{index},{id}"type":"custom","custom":{{{custom}}}}}"#))
    };
    let begun = || custom(0, r#""id":"a","#, r#""name":"sql","input":"""#);
    check(&[
        (
            "pieces",
            vec![
                begun(),
                custom(0, "", r#""input":"SELECT \"1\n""#),
                custom(0, "", r#""input":"2""#),
                END.into(),
            ],
            r#"c0#a:sql()[{"type":"custom"}] c0({"input":"SELECT \"1\n) c0(2) c0("}) end:stop"#,
        ),
        (
            "no text",
            vec![begun(), END.into()],
            r#"c0#a:sql()[{"type":"custom"}] c0({"input":""}) end:stop"#,
        ),
        (
            "cut by its length",
            vec![
                begun(),
                custom(0, "", r#""input":"x""#),
                r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#.into(),
            ],
            r#"c0#a:sql()[{"type":"custom"}] c0({"input":"x) end:length"#,
        ),
        (
            "cut by a filter",
            vec![
                begun(),
                custom(0, "", r#""input":"x""#),
                r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#.into(),
            ],
            r#"c0#a:sql()[{"type":"custom"}] c0({"input":"x) end:content_filter"#,
        ),
        (
            "beside a function",
            vec![
                custom(0, r#""id":"a","#, r#""name":"sql","input":"x""#),
                calls(r#"{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}"#),
                "[DONE]".into(),
            ],
            r#"c0#a:sql({"input":"x)[{"type":"custom"}] c1#b:f({}) c0("}) end:-"#,
        ),
        (
            "empty calls",
            vec![
                delta(r#""content":"a","function_call":{},"tool_calls":[{}]"#),
                delta(
                    r#""function_call":{"name":"","arguments":""},"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":""}},{"index":1}]"#,
                ),
                END.into(),
            ],
            "m:a end:stop",
        ),
    ]);
}

// Found: V14
#[test]
fn a_member_that_nobody_knows_is_told_once() {
    check(&[
        (
            "told when it changes",
            vec![
                delta(r#""content":"a","mood":"calm""#),
                delta(r#""content":"b","mood":"calm","empty":null,"none":[]"#),
                delta(r#""content":"c","mood":{"is":1.50}"#),
                END.into(),
            ],
            r#"m:a i:other"calm" m:bc i:other{"is":1.50} end:stop"#,
        ),
        ("whole", vec![whole(r#""content":"a","mood":7"#)], "m:a i:other7 end:stop"),
    ]);
}

// Found: V15
#[test]
fn errors_of_every_shape_keep_the_vendor_s_words() {
    use ErrorCode::{ContextExceeded, InStream, Overloaded, QuotaExhausted};
    #[rustfmt::skip]
    let cases = [
        (r#"{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#, QuotaExhausted,  "insufficient balance", Some("1008")),
        (r#"{"error_code":336003,"error_msg":"more characters than 11200"}"#,                        InStream,        "more characters than 11200", Some("336003")),
        (r#"{"detail":"Model is overloaded"}"#,                                                      Overloaded,      "Model is overloaded", None),
        (r#"{"message":"the context length is 5","type":"x"}"#,                                      ContextExceeded, "the context length is 5", Some("x")),
        (r#"{"errors":[{"message":"no such thing","code":7}],"success":false}"#,                     InStream,        "no such thing", Some("7")),
        (r#"{"errors":["no such thing"]}"#,                                                          InStream,        "no such thing", None),
        (r#"{"choices":[{"delta":{"content":"a"}}],"base_resp":{"status_code":1,"status_msg":"m"}}"#, InStream,       "m", Some("1")),
    ];
    for (data, kind, message, code) in cases {
        for body in [sse(&[data]), data.as_bytes().to_vec()] {
            for at in 0..body.len() {
                let (start, rest) = body.split_at(at);
                let (_, error) = read([start, rest]);
                let Some(ProviderError::InStream { kind: k, message: m, code: c, raw }) = error
                else {
                    panic!("{data}: {error:?}");
                };
                assert_eq!((k, &*m, c.as_deref()), (kind, message, code), "{data}");
                assert_eq!(raw.as_ref().map(Json::as_str), Some(data), "{data}");
            }
        }
    }
    let ok = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"base_resp":{"status_code":0,"status_msg":""}}"#;
    check(&[("a state of success", vec![ok.into()], "m:a end:stop")]);
}

// Found: V18
#[test]
fn progress_with_the_prompt_is_an_event_and_not_a_part_of_the_answer() {
    let body = sse(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":9,"cache":1,"processed":4,"time_ms":2}}"#,
        END,
    ]);
    let mut seen = Vec::new();
    let mut decoder = OpenAiDecoder::default();
    decoder
        .push(&body, &mut |chunk| {
            assert!(!chunk.is_delivery(), "{chunk:?}");
            seen.extend(chunk.details.into_iter().flat_map(|details| details.events));
        })
        .unwrap();
    let [AgentEvent::Custom { name, data }] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((name.as_str(), &data["processed"]), (PROMPT_PROGRESS, &4.into()));
}

// Found: V15
#[test]
fn a_choice_with_a_huge_number_is_not_the_first() {
    let other = r#"{"choices":[{"index":4294967296,"delta":{"content":"no"}}]}"#;
    check(&[(
        "huge",
        vec![delta(r#""content":"a""#), other.into(), END.into()],
        "m:a +4294967295 end:stop",
    )]);
}
