//! The result of a call as the model reads it, within its limits.

use crate::{
    prompts::feedback,
    state::{CallFailure, CallResult, FailureKind},
    tools::{ToolError, ToolOutput, data_length},
};
use forgeline_llm::private::media::{self, AcceptedMedia, MediaRefusal};
use forgeline_types::Part;

/// Maximum bytes of the images and documents of one result.
pub(super) const MAX_PART_BYTES: usize = 20 << 20;

/// Returns the text that the model reads as the result, and the parts after it that the model is `able` to take.
pub(crate) fn read_result(
    tool_name: &str,
    result: Result<ToolOutput, ToolError>,
    limit: usize,
    able: impl Into<AcceptedMedia>,
) -> (CallResult, Vec<Part>) {
    let result = result.and_then(|output| {
        if output.parts.is_empty() { Ok(output) } else { takeable(output, able.into()) }
    });
    match result {
        Ok(ToolOutput { content, parts, .. }) => {
            let words = || parts.iter().filter_map(Part::as_text);
            match over(words().chain([&*content]), limit) {
                Some(chars) => {
                    let words: Vec<_> = [&*content].into_iter().chain(words()).collect();
                    let text = words.concat();
                    (Ok(feedback::elided(tool_name, &text, chars, limit)), Vec::new())
                }
                None => (Ok(content), parts),
            }
        }
        Err(error) => (Err(failure(tool_name, &error, limit)), Vec::new()),
    }
}

/// Leaves out the parts of a result that the model does not take or a vendor would refuse, and notes that in the text.
fn takeable(mut output: ToolOutput, able: AcceptedMedia) -> Result<ToolOutput, ToolError> {
    let bytes = output.parts.iter().map(data_length).fold(0, usize::saturating_add);
    if bytes > MAX_PART_BYTES {
        return Err(ToolError::failed(feedback::parts_too_large(bytes, MAX_PART_BYTES)));
    }
    for (part, is_checked) in output.take_parts() {
        let checked = if is_checked { Ok(part) } else { media::of_result(part) };
        let part = match checked {
            Ok(part) => part,
            Err(left) => {
                output.content.push_str(&feedback::not_taken(&left));
                continue;
            }
        };
        let (what, media_type) = match &part {
            Part::Text { .. } => ("text", ""),
            Part::Image { media_type, .. } => ("picture", media_type.as_str()),
            Part::Document { media_type, .. } => ("document", media_type.as_str()),
            Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::ProviderItem(_) => {
                let problem = "a part of its result is neither text nor a picture nor a document";
                return Err(ToolError::failed(problem));
            }
            Part::Framing { .. } | _ => {
                let problem = "a part of its result is neither text nor a picture nor a document";
                return Err(ToolError::failed(problem));
            }
        };
        match able.refusal(&part) {
            None => output.parts.push(part),
            Some(MediaRefusal::Kind(_)) => {
                output.content.push_str(&feedback::left_out(what, media_type, ""));
            }
            Some(MediaRefusal::This(_, why)) => {
                output.content.push_str(&feedback::left_out(what, media_type, why));
            }
        }
    }
    Ok(output)
}

/// Returns the kind of failure, and the text of the error that the model reads.
fn failure(tool_name: &str, error: &ToolError, limit: usize) -> CallFailure {
    let problem = feedback::brief(error.to_string());
    let chars = over([&*problem], limit);
    let problem = chars.map_or(problem, |chars| feedback::withheld(chars, limit));
    let failure = match error {
        ToolError::InvalidArguments { .. } => {
            return CallFailure(FailureKind::Arguments, feedback::bad_arguments(&problem));
        }
        ToolError::Failed { .. } => FailureKind::Failed,
        ToolError::Transient { .. } => FailureKind::Transient,
        ToolError::TimedOut { .. } => FailureKind::TimedOut,
        ToolError::Panicked { .. } => FailureKind::Panicked,
        ToolError::Cancelled { .. } => FailureKind::NotRun,
    };
    CallFailure(failure, feedback::tool_failed(tool_name, &problem))
}

/// Returns the number of characters if it is greater than `limit`.
fn over<'t>(texts: impl IntoIterator<Item = &'t str> + Clone, limit: usize) -> Option<usize> {
    // Characters are counted only when the number of bytes does not settle it.
    if texts.clone().into_iter().map(str::len).sum::<usize>() <= limit {
        return None;
    }
    let chars = texts.into_iter().map(|text| text.chars().count()).sum();
    (chars > limit).then_some(chars)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use forgeline_types::{Capabilities, MediaRules, ModelInfo};

    /// A picture whose data are so long, a multiple of four.
    fn picture(bytes: usize) -> Part {
        let data = format!("/9j/{}", "A".repeat(bytes - 4));
        Part::image("image/jpeg", data)
    }

    fn document() -> Part {
        Part::document("application/pdf", "JVBE", None)
    }

    /// What a model reads that takes pictures and no documents.
    fn seen(output: ToolOutput, limit: usize) -> (CallResult, Vec<Part>) {
        read_result("see", Ok(output), limit, Capabilities::ALL.documents(false))
    }

    // Covers: CT-131, CT-134, CT-135, CT-136, CT-138, CT-139, CT-140, CT-141, CT-142, CT-143, T-49
    #[test]
    fn a_result_over_its_budget_is_replaced_by_json_that_says_what_to_do() {
        let exact = "é".repeat(50);
        assert_eq!(seen(ToolOutput::new(&exact), 50).0.unwrap(), exact, "the bound is inclusive");
        let large = "a".repeat(5_000_000);
        assert_eq!(seen(ToolOutput::new(&large), usize::MAX).0.unwrap(), large, "without a limit");

        let output = Ok(ToolOutput::new("é".repeat(51)));
        let (text, parts) = read_result(r#"a"\b"#, output, 50, Capabilities::ALL);
        let text = text.unwrap();
        let marker: Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<_> = marker.as_object().unwrap().keys().map(String::as_str).collect();
        let want = ["toolResultElided", "tool", "resultChars", "budgetChars", "reason", "steer"];
        assert_eq!((keys, parts), (want.to_vec(), vec![]));
        assert_eq!(marker["toolResultElided"], true);
        assert_eq!((&marker["tool"], &marker["resultChars"]), (&r#"a"\b"#.into(), &51.into()));
        assert_eq!(marker["budgetChars"], 50);
        assert!(marker["steer"].as_str().unwrap().starts_with("Ask for less"), "{text}");
        for word in ["é", "error", "failed", "policy", "denied", "forbidden"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    // Rows: N-42
    #[test]
    fn n42_of_a_long_result_the_beginning_and_the_end_are_passed_on() {
        let text = format!("first {} last", "é\n\"".repeat(100_000));
        for limit in [500, 1_000, 20_000, 299_000] {
            let (seen, parts) = seen(ToolOutput::new(&text), limit);
            let seen = seen.unwrap();
            assert!(feedback::is_elided(&seen) && parts.is_empty(), "{limit}");
            let (note, rest) = seen.split_once('\n').unwrap();
            let note: Value = serde_json::from_str(note).unwrap();
            assert!(note["steer"].as_str().unwrap().starts_with("Ask for less"), "{note}");
            assert!(
                rest.starts_with("first é") && rest.ends_with("é\n\" last"),
                "{limit}: {rest:.40}"
            );
            let (passed, most) = (seen.chars().count(), limit);
            assert!(passed <= most && passed > most * 9 / 10 - 60, "{passed} of {most}");
            let left: usize =
                rest.split_once("[… ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
            let gap = format!("\n[… {left} characters are left out …]\n").chars().count();
            let shown = rest.chars().count() - gap;
            assert_eq!(shown + left, text.chars().count(), "{limit}");
        }
        // Words among the parts of a result, and one character too many.
        let words = ToolOutput::new("a".repeat(600)).part(Part::text("z".repeat(600)));
        let seen = seen(words, 1_199).0.unwrap();
        assert!(seen.contains("\naaaa") && seen.ends_with("zzzz"), "{seen}");
    }

    #[test]
    fn a_checked_picture_is_not_decoded_again_unless_it_was_replaced() {
        let png = |letters: &str| Part::image("image/png", format!("iVBORw0KGgo{letters}"));
        let checked = || media::inline(png("=")).unwrap();
        let mut output = ToolOutput::new("").checked_part(checked()).checked_part(checked());
        // Of the same length: it is not looked at again, as if it were one that is not decoded.
        output.parts[0] = png("!");
        output.parts[1] = png("!!");
        let (text, parts) = seen(output, 5_000);
        assert_eq!(parts, [png("!")]);
        assert!(text.unwrap().contains("its data are not base64"));
    }

    #[test]
    fn words_among_the_parts_count_and_pictures_have_a_bound_of_their_own() {
        let words = || ToolOutput::new("abc").part(Part::text("de"));
        assert_eq!(seen(words(), 5), (Ok("abc".into()), words().parts));
        assert!(seen(words(), 4).0.unwrap().contains(r#""resultChars":5"#));
        assert_eq!(seen(ToolOutput::new("a").part(picture(100)), 5).1.len(), 1);

        let most = ToolOutput::new("").part(picture(MAX_PART_BYTES));
        assert_eq!(seen(most.clone(), 5).1.len(), 1);
        let (failed, parts) = seen(most.part(picture(4)), 5_000);
        let CallFailure(failure, text) = failed.unwrap_err();
        assert_eq!((failure, parts), (FailureKind::Failed, vec![]));
        assert!(text.contains("20971524 bytes") && text.contains("at most 20971520"), "{text}");
    }

    #[test]
    fn unsupported_parts_are_left_out_with_a_note() {
        let output = ToolOutput::new("Two files.").part(picture(4)).part(document());
        let (text, parts) = seen(output, 1_000);
        let want =
            "Two files.\n[A document (application/pdf) is left out: the model does not accept it.]";
        assert_eq!((text, parts), (Ok(want.into()), vec![picture(4)]));

        // A document of text becomes words, for a model without documents too.
        let notes = Part::document("text/plain", "aGk=", None);
        let words = Part::text("hi");
        assert_eq!(seen(ToolOutput::new("").part(notes), 1_000).1, vec![words]);

        let item = Part::thinking("a", None);
        let (failed, _) = seen(ToolOutput::new("a").part(item), 1_000);
        assert!(failed.unwrap_err().1.contains("neither text nor a picture nor a document"));
    }

    #[test]
    fn what_this_provider_refuses_is_left_out_with_what_to_do() {
        let rules = MediaRules::default().picture_addresses(false).max_picture_letters(Some(8));
        let model = ModelInfo::new("p", "m").capabilities(Capabilities::ALL).media(rules);
        let image = |data: &str| Part::image("image/jpeg", data);
        let output =
            ToolOutput::new("Three.").part(image("https://x/y")).part(picture(8)).part(picture(12));
        let (text, parts) = read_result("see", Ok(output), 1_000, &model);
        let note = |why| format!("\n[A picture (image/jpeg) is left out: the model {why}.]");
        let want = [
            "does not accept image URLs; send the data",
            "does not accept images of this size; make it smaller",
        ]
        .map(note);
        assert_eq!((text, parts), (Ok(format!("Three.{}", want.concat())), vec![picture(8)]));
    }

    #[test]
    fn what_vendors_refuse_is_left_out_with_its_type_its_bytes_and_the_reason() {
        let image = |kind: &str, data: &str| Part::image(kind, data);
        let blob = Part::document("application/octet-stream", "aGk=", "u:1".to_owned());
        #[rustfmt::skip]
        let cases = [
            (blob,                                "[A document (application/octet-stream, 2 bytes) is left out: models accept PDF and text.]"),
            (image("image/svg+xml", "PHN2Zy8+"),  "[A picture (image/svg+xml, 6 bytes) is left out: models accept PNG, JPEG, GIF and WebP.]"),
            (image("image/png", "not base64!"),     "[A picture (image/png, 11 bytes) is left out: its data are not base64.]"),
        ];
        for (part, want) in cases {
            let (text, parts) =
                read_result("f", Ok(ToolOutput::new("a").part(part)), 1_000, Capabilities::ALL);
            assert_eq!((text, parts), (Ok(format!("a\n{want}")), vec![]));
        }
    }
}
