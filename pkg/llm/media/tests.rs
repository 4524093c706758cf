use super::{
    AcceptedMedia, document_text, inline,
    kind::{MAX_TYPE, PDF},
    of_result,
    part::{NOT_BASE64, NOT_TEXT, PICTURES, problem},
    unfit,
};
use forgeline_types::{Capabilities, MediaRules, ModelInfo, Part};

const PNG: &str = "iVBORw0KGgo=";

fn image(media_type: &str, data: &str) -> Part {
    Part::image(media_type, data)
}

fn file(media_type: &str, data: &str) -> Part {
    Part::document(media_type, data, "u:1".to_owned())
}

fn words(text: &str) -> Part {
    Part::text(text)
}

/// The part that is left, or the reason for which there is none.
fn fitted(part: Part) -> Result<Part, (usize, &'static str)> {
    of_result(part).map_err(|left| (left.bytes, left.reason))
}

#[test]
fn a_part_of_a_result_is_one_that_all_models_take_or_left_out_with_its_reason() {
    let url = "https://x/y";
    #[rustfmt::skip]
    let cases = [
        (image("image/png", PNG),                      Ok(image("image/png", PNG))),
        (image("image/png", "iVBORw0K\nGgo"),          Ok(image("image/png", PNG))),
        (image("image/jpg", "/9j/"),                   Ok(image("image/jpeg", "/9j/"))),
        (image("image/png", "R0lGODlh"),               Ok(image("image/gif", "R0lGODlh"))),
        (image("image/webp", "UklGRgECAwRXRUJQ"),      Ok(image("image/webp", "UklGRgECAwRXRUJQ"))),
        (image("image/png", url),                      Ok(image("image/png", url))),
        (image("image/svg+xml", "PHN2Zy8+"),           Err((6, PICTURES))),
        (image("image/png", "PHN2Zy8+"),               Err((6, PICTURES))),
        (image("image/png", ""),                       Err((0, PICTURES))),
        (image("image/png", "not base64!"),            Err((11, NOT_BASE64))),
        (image("image/png", "gs://b/x.png"),           Err((12, NOT_BASE64))),
        (file("application/pdf", "JVBERi0="),          Ok(file(PDF, "JVBERi0="))),
        (file("application/octet-stream", "JVBERi0="), Ok(file(PDF, "JVBERi0="))),
        (file("application/octet-stream", PNG),        Ok(image("image/png", PNG))),
        (file("application/pdf", url),                 Ok(file(PDF, url))),
        (file("text/plain; charset=utf-8", "aGk="),    Ok(words("u:1:\nhi"))),
        (file("application/json", "e30="),             Ok(words("u:1:\n{}"))),
        (file("text/plain", "/w=="),                   Err((1, NOT_TEXT))),
        (file("text/plain", url),                      Err((11, "only a PDF may be a URL"))),
        (file("application/octet-stream", "aGk="),     Err((2, "models accept PDF and text"))),
        (file("application/zip", "UEsDBA=="),          Err((4, "models accept PDF and text"))),
        (file("application/pdf", ""),                  Err((0, NOT_BASE64))),
        (file("application/pdf", "%PDF-1.7"),          Err((8, NOT_BASE64))),
        (words("a"),                                   Ok(words("a"))),
    ];
    for (part, want) in cases {
        assert_eq!(fitted(part.clone()), want, "{part:?}");
    }
    // From outside, an address is not a picture.
    let error = inline(image("image/png", url)).unwrap_err();
    assert_eq!((error.bytes, error.reason), (11, NOT_BASE64));
    let long = image(&"x\n".repeat(500), "!");
    assert_eq!(of_result(long).unwrap_err().media_type, "x".repeat(MAX_TYPE));
}

#[test]
fn an_input_may_have_what_one_model_takes_and_nothing_that_none_does() {
    #[rustfmt::skip]
    let cases = [
        (image("image/png", PNG),                  None),
        (image("image/png", "https://x/y.png"),    None),
        (image("image/heic", "aGk="),              None),
        (image("image/svg+xml", "PHN2Zy8+"),       Some(PICTURES)),
        (image("image/png", "not base64!"),        Some(NOT_BASE64)),
        (image("image/png", ""),                   Some(NOT_BASE64)),
        (file("application/pdf", "AAAA"),          None),
        (file("application/pdf", "gs://b/x.pdf"),  None),
        (file("audio/mp3", "AAAA"),                None),
        (file("text/plain", "aGk="),               None),
        (file("text/plain", "/w=="),               Some(NOT_TEXT)),
        (file("application/pdf", "%PDF-1.7"),      Some(NOT_BASE64)),
        (words("a"),                               None),
    ];
    for (part, want) in cases {
        assert_eq!(problem(&part).map(|left| left.reason), want, "{part:?}");
    }
}

#[test]
fn what_a_provider_takes_is_the_same_for_inputs_and_results() {
    use super::MediaRefusal::{Kind, This};
    let all = || ModelInfo::new("p", "m").capabilities(Capabilities::ALL);
    let of = |rules: MediaRules| AcceptedMedia::from(&all().media(rules));
    let rules = MediaRules::default;
    let url = "https://x/y";
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let small = rules().max_picture_letters(Some(12));
    #[rustfmt::skip]
    let cases = [
        (AcceptedMedia::from(Capabilities::default()), image("image/png", PNG),    Some(Kind("pictures"))),
        (AcceptedMedia::from(Capabilities::default()), file(PDF, "JVBERi0="),      Some(Kind("documents"))),
        (of(rules()),                          file(docx, "UEsDBA=="),     None),
        (of(rules().all_documents(false)),     file(docx, "UEsDBA=="),     Some(This("document", "does not accept documents of this type; send a PDF or text"))),
        (of(rules().all_documents(false)),     file("text/csv", "aGk="),   None),
        (of(rules().all_documents(false)),     file(PDF, url),             None),
        (of(rules().all_documents(false)),     file("text/csv", url),      Some(This("document", "does not accept URLs of text documents; send the data"))),
        (of(rules().document_addresses(false)), file(PDF, url),            Some(This("document", "does not accept document URLs; send the data"))),
        (of(rules().picture_addresses(false)), image("image/png", url),    Some(This("picture", "does not accept image URLs; send the data"))),
        (of(rules().picture_addresses(false)), image("image/png", PNG),    None),
        (of(small),                            image("image/png", PNG),    None),
        (of(small),                            image("image/png", "iVBORw0KGgoA1"), Some(This("picture", "does not accept images of this size; make it smaller"))),
        (of(small),                            words("a much longer text"), None),
    ];
    for (takes, part, want) in cases {
        assert_eq!(takes.refusal(&part), want, "{part:?}");
    }
    let problem = unfit(
        &[words("a"), image("image/png", url)],
        &all().media(rules().picture_addresses(false)),
    );
    let want = "the model `m` does not accept image URLs; send the data, or choose another model";
    assert_eq!(problem, Some((want.to_owned(), false)));
    assert!(unfit(&[image("image/png", "!")], &all()).is_some_and(|(_, is_bad)| is_bad));
}

// Rows: N-47
#[test]
fn n47_text_documents_are_text_for_models_without_documents() {
    let document = |kind: &str, data: &str, name: Option<&str>| {
        Part::document(kind.to_owned(), data.to_owned(), name.map(str::to_owned))
    };
    #[rustfmt::skip]
    let rows = [
        (document("text/plain", "aGk=", Some("a.txt")),             Some("[The attached file `a.txt`]\nhi\n[The end of `a.txt`]")),
        (document("text/csv", "YSxi", Some("t.csv")),               Some("[The attached file `t.csv`]\na,b\n[The end of `t.csv`]")),
        (document("text/markdown", "IyBo", None),                   Some("[The attached file `text/markdown`]\n# h\n[The end of `text/markdown`]")),
        (document("application/json", "e30=", Some("")),            Some("[The attached file `application/json`]\n{}\n[The end of `application/json`]")),
        (document("Text/HTML; charset=utf-8", "PHA+", Some("p")),   Some("[The attached file `p`]\n<p>\n[The end of `p`]")),
        (document("application/ld+json", "e30=", Some("l")),        Some("[The attached file `l`]\n{}\n[The end of `l`]")),
        (document("application/yaml", "YTog", Some("y\n\u{1b}[m")), Some("[The attached file `y[m`]\na: \n[The end of `y[m`]")),
        (document("application/pdf", "JVBERg==", Some("a.pdf")),    None),
        (document("text/plain", "/w==", Some("latin.txt")),         None),
        (document("text/plain", "AA==", Some("nul.txt")),           None),
        (document("text/plain", "https://x.example/a", None),       None),
        (document("text/plain", "not base64!", None),               None),
        (Part::text("hi"),                      None),
    ];
    let accepts = AcceptedMedia::from(Capabilities::ALL.documents(false));
    for (part, want) in rows {
        assert_eq!(document_text(&part).as_deref(), want, "{part:?}");
        let is_document = matches!(part, Part::Document { .. });
        assert_eq!(accepts.refusal(&part).is_some(), is_document && want.is_none(), "{part:?}");
    }
}
