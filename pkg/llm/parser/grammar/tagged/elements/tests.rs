//! Elements at every split.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ElementsCall, call::MARK};
use crate::grammar::{
    ToolSchemas,
    tagged::xml::tree::{self, NOT_CLOSED, NOT_OPEN, STRAY_TEXT},
    tests::{Reading, read_at_all_cuts, read_cut},
};
use forgeline_types::Text;

fn schemas() -> ToolSchemas {
    let stop = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let schema = json!({"properties": {
        "s": {"type": "string"}, "n": {"type": "integer"},
        "o": {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}},
        "a": {"type": "array", "items": {"type": "string"}},
        "stops": {"type": "array", "items": stop},
    }});
    Arc::from([(Text::from("f"), schema.into())])
}

/// `~` stands for the mark.
fn read(text: &str, schemas: &ToolSchemas) -> Reading {
    read_at_all_cuts(&text.replace('~', MARK), || ElementsCall::new(Arc::clone(schemas).into()))
}

#[test]
fn arguments_are_json_at_every_cut() {
    let none: ToolSchemas = Arc::from([]);
    let typed = schemas();
    #[rustfmt::skip]
    let cases = [
        (&none,  "",                                              "{}"),
        (&none,  "\n ",                                           "{}"),
        (&none,  "~<k>12~</k>~<b>true~</b>",                      r#"{"k":12,"b":true}"#),
        (&none,  "~<k>1 <b> & ] ]<]minimax[>~</k>",               r#"{"k":"1 <b> & ] ]<]minimax[>"}"#),
        (&none,  "~<k>\"\\\n~</k>",                               r#"{"k":"\"\\\n"}"#),
        (&none,  "~<k>a~ b~ <~</k>",                              r#"{"k":"a]<]minimax[>[ b]<]minimax[>[ <"}"#),
        (&none,  "~\n<k>a~ </k>",                                 r#"{"k":"a"}"#),
        (&none,  "~<k>~</k>~<l> \n~</l>",                         r#"{"k":"","l":" \n"}"#),
        (&none,  "~<k>~<item>1~</item>~<item>x~</item>~</k>",     r#"{"k":[1,"x"]}"#),
        (&none,  "~<k>\n~<item>1~</item>\n~</k>\n",               r#"{"k":[1]}"#),
        (&none,  "~<k>~<a>1~</a>~<item>2~</item>~</k>",           r#"{"k":{"a":1,"item":2}}"#),
        (&none,  "~<k>~<a>1~</a>~<b>~<item>~</item>~</b>~</k>",   r#"{"k":{"a":1,"b":[""]}}"#),
        (&none,  "~<k>~<a>1~</a>~<a>2~</a>~</k>",                 r#"{"k":{"a":[1,2]}}"#),
        (&none,  "~<invoke>1~</invoke>",                          r#"{"invoke":1}"#),
        (&none,  "~<k>[1]~</k>",                                  r#"{"k":"[1]"}"#),
        (&typed, "~<s>12~</s>~<n> 12 ~</n>",                      r#"{"s":"12","n":12}"#),
        (&typed, "~<o>~</o>~<a>\n~</a>",                          r#"{"o":{},"a":[]}"#),
        (&typed, "~<o>~<s>1~</s>~<n>1~</n>~<x>1~</x>~</o>",       r#"{"o":{"s":"1","n":1,"x":1}}"#),
        (&typed, "~<o> {\"s\": 1}~</o>~<a>[\"b\"]~</a>",          r#"{"o":{"s": 1},"a":["b"]}"#),
        (&typed, "~<a>~<item>1~</item>~</a>",                     r#"{"a":["1"]}"#),
        (&typed, "~<stops>~<item>~<city>7~</city>~</item>~</stops>", r#"{"stops":[{"city":"7"}]}"#),
    ];
    for (schemas, inside, want) in cases {
        let text = format!("~<invoke name=\"f\">{inside}~</invoke>");
        let reading = read(&format!("{text}behind"), schemas);
        assert_eq!(reading.show(), format!("f {want}"), "{inside}");
        assert_eq!(reading.sources(), [inside.replace('~', MARK)], "{inside}");
        assert!(reading.is_whole(), "{inside}");
        assert_eq!(reading.taken(), text.replace('~', MARK).len(), "{inside}");
        assert!(serde_json::from_str::<Value>(want).is_ok(), "{inside}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let typed = schemas();
    #[rustfmt::skip]
    let cases = [
        ("<invoke>~</invoke>",                                 "the call names no tool",                   0),
        ("<invokes name=\"f\">~</invoke>",                     "the call names no tool",                   0),
        ("<invoke name=\"f\">~</k>~</invoke>",                 NOT_OPEN,                                  30),
        ("<invoke name=\"f\">~<k>1~</l>~</invoke>",            NOT_OPEN,                                  47),
        ("<invoke name=\"f\"> a~<k>1~</k>~</invoke>",          STRAY_TEXT,                                31),
        ("<invoke name=\"f\">~<k>1~</k>~<k>2~</k>~</invoke>",  tree::DUPLICATE,                           64),
        ("<invoke name=\"f\">~<o>~<a>1~</a>x~</o>~</invoke>",  STRAY_TEXT,                                80),
        ("<invoke name=\"f\">~<o>~<a>1~<b>2~</b>~</invoke>",   STRAY_TEXT,                                63),
        ("<invoke name=\"f\">~<o>~<a>1~</invoke>",             NOT_CLOSED,                                63),
        ("<invoke name=\"f\">~<s>~<a>1~</a>~</s>~</invoke>",   NOT_OPEN,                                  80),
        ("<invoke name=\"f\">~<a>~<item>~<x>1~</x>~</item>~</a>~</invoke>", "an element stands in a string", 119),
    ];
    for (text, reason, at) in cases {
        let reading = read(&format!("~{text}behind"), &typed);
        let shown = reading.show();
        assert!(shown.contains(&format!("!{reason} @{at}")), "{text}: {shown}");
        assert_eq!(reading.taken(), format!("~{text}").replace('~', MARK).len(), "{text}");
    }
}

#[test]
fn a_value_without_its_end_ends_at_the_next_tag() {
    let reading = read("~<invoke name=\"f\">~<s>a~<n>1~</invoke>", &schemas());
    assert_eq!(reading.show(), r#"f {"s":"a","n":1} ~implicit_close"#);
    let reading = read("~<invoke name=\"f\">~<s>a\n~</tool_call>", &schemas());
    assert_eq!(reading.show(), r#"f {"s":"a\n"} ~implicit_close"#);
}

#[test]
fn a_call_that_is_cut_is_not_whole() {
    for text in ["~<invoke na", "~<invoke name=\"f\">~<k>a", "~<invoke name=\"f\">~<k>~<l>1~</l>"] {
        assert!(!read(text, &schemas()).is_whole(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_reads_alike_at_any_cuts(
        parts in proptest::collection::vec("~<(a|o|s|item|invoke)>|~</(a|o|s|item|invoke)>|~|[]\\[<> \n1x\"é]{1,3}", 0..12),
        cuts in proptest::collection::vec(0_usize..400, 0..6),
    ) {
        let text = format!("~<invoke name=\"f\">{}~</invoke>", parts.concat()).replace('~', MARK);
        read_cut(&text, &cuts, || ElementsCall::new(schemas().into()));
    }
}
