//! Markers as they are recognised at the front of text.

use super::*;
use crate::{ThinkingDialect, ToolDialect, ahead::shape::MAX_FREE_BYTES};

#[test]
fn a_set_has_room_for_the_markers_of_auto() {
    let tools = ToolDialect::AUTO;
    let counts =
        [tools.compiled().text.markers.len(), ThinkingDialect::AUTO.compiled().text.markers.len()];
    assert!(counts.iter().all(|count| (1..=255).contains(count)), "{counts:?}");
}

#[test]
fn markers_are_recognised_whole_in_part_or_not() {
    let tag = Marker::tag("<thinking");
    let tool = Marker::tag_with_attributes("<tool");
    let any = Marker::before_tag("@");
    let number = Marker::numbered_tag("</c");
    let only = Marker::only_suffixed_tag("<t");
    let sfx = Marker::suffixed_tag("<t");
    let name = Marker::header("to=", "|", Header::Name);
    #[rustfmt::skip]
    let cases = [
        (&tag,   "<thinking>x",           Found::Yes(10)),
        (&tag,   "<THINKing \n>",         Found::Yes(12)),
        (&tag,   "<think",                Found::Maybe),
        (&tag,   "<thinking ",            Found::Maybe),
        (&tag,   "<think>",               Found::No),
        (&tag,   "< thinking>",           Found::No),
        (&tag,   "<thinking x>",          Found::No),
        (&tool,  "<tool>",                Found::Yes(6)),
        (&tool,  "<tool name=\"x\">",     Found::Yes(15)),
        (&tool,  "<tool a=\">\" b-c=\"\" >", Found::Yes(20)),
        (&tool,  "<tool a=\"<",           Found::No),
        (&tool,  "<tool name=\"x",        Found::Maybe),
        (&tool,  "<tool name=",           Found::Maybe),
        (&tool,  "<tool name>",           Found::No),
        (&tool,  "<tool_call>",           Found::No),
        (&tool,  "<tool a=\"x\"b=\"y\">", Found::No),
        (&sfx,   "<t>",                 Found::Yes(3)),
        (&sfx,   "<T:a1>x",             Found::Yes(6)),
        (&sfx,   "<t:a",                Found::Maybe),
        (&sfx,   "<t:>",                Found::No),
        (&only,  "<t",                  Found::Maybe),
        (&only,  "<t>",                 Found::No),
        (&only,  "<t:a>",               Found::Yes(5)),
        (&sfx,   "<t:a >",              Found::No),
        (&name,  "to=a.b|",             Found::Yes(7)),
        (&name,  "to=a",                Found::Maybe),
        (&name,  "to=",                 Found::Maybe),
        (&name,  "to=|",                Found::No),
        (&name,  "to=a b|",             Found::No),
        (&number, "</c>",               Found::Yes(4)),
        (&number, "</c: 0:[1,2],1:[]>x", Found::Yes(18)),
        (&number, "</c: 0:[1",          Found::Maybe),
        (&number, "</cd>",              Found::No),
        (&number, "</c: a>",            Found::No),
        (&any,   "@</a>b",              Found::Yes(5)),
        (&any,   "@\n <ä b=\"x\">",     Found::Yes(13)),
        (&any,   "@ ",                  Found::Maybe),
        (&any,   "@<",                  Found::Maybe),
        (&any,   "@<a",                 Found::Maybe),
        (&any,   "@<>",                 Found::No),
        (&any,   "@<a<",                Found::No),
        (&any,   "@<a\n",               Found::No),
        (&any,   "@a",                  Found::No),
    ];
    for (marker, text, want) in cases {
        assert_eq!(marker.check(text.as_bytes(), Ahead::More), want, "{text}");
    }
    let long = format!("<tool a=\"{}", "x".repeat(MAX_FREE_BYTES));
    assert_eq!(tool.check(long.as_bytes(), Ahead::More), Found::No, "too many attribute bytes");
}
