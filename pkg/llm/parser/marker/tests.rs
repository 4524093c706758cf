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
    let name = Marker::header("to=", "|", ChannelHeader::Name);
    #[rustfmt::skip]
    let cases = [
        (&tag,   "<thinking>x",           MarkerMatch::Yes(10)),
        (&tag,   "<THINKing \n>",         MarkerMatch::Yes(12)),
        (&tag,   "<think",                MarkerMatch::Maybe),
        (&tag,   "<thinking ",            MarkerMatch::Maybe),
        (&tag,   "<think>",               MarkerMatch::No),
        (&tag,   "< thinking>",           MarkerMatch::No),
        (&tag,   "<thinking x>",          MarkerMatch::No),
        (&tool,  "<tool>",                MarkerMatch::Yes(6)),
        (&tool,  "<tool name=\"x\">",     MarkerMatch::Yes(15)),
        (&tool,  "<tool a=\">\" b-c=\"\" >", MarkerMatch::Yes(20)),
        (&tool,  "<tool a=\"<",           MarkerMatch::No),
        (&tool,  "<tool name=\"x",        MarkerMatch::Maybe),
        (&tool,  "<tool name=",           MarkerMatch::Maybe),
        (&tool,  "<tool name>",           MarkerMatch::No),
        (&tool,  "<tool_call>",           MarkerMatch::No),
        (&tool,  "<tool a=\"x\"b=\"y\">", MarkerMatch::No),
        (&sfx,   "<t>",                 MarkerMatch::Yes(3)),
        (&sfx,   "<T:a1>x",             MarkerMatch::Yes(6)),
        (&sfx,   "<t:a",                MarkerMatch::Maybe),
        (&sfx,   "<t:>",                MarkerMatch::No),
        (&only,  "<t",                  MarkerMatch::Maybe),
        (&only,  "<t>",                 MarkerMatch::No),
        (&only,  "<t:a>",               MarkerMatch::Yes(5)),
        (&sfx,   "<t:a >",              MarkerMatch::No),
        (&name,  "to=a.b|",             MarkerMatch::Yes(7)),
        (&name,  "to=a",                MarkerMatch::Maybe),
        (&name,  "to=",                 MarkerMatch::Maybe),
        (&name,  "to=|",                MarkerMatch::No),
        (&name,  "to=a b|",             MarkerMatch::No),
        (&number, "</c>",               MarkerMatch::Yes(4)),
        (&number, "</c: 0:[1,2],1:[]>x", MarkerMatch::Yes(18)),
        (&number, "</c: 0:[1",          MarkerMatch::Maybe),
        (&number, "</cd>",              MarkerMatch::No),
        (&number, "</c: a>",            MarkerMatch::No),
        (&any,   "@</a>b",              MarkerMatch::Yes(5)),
        (&any,   "@\n <ä b=\"x\">",     MarkerMatch::Yes(13)),
        (&any,   "@ ",                  MarkerMatch::Maybe),
        (&any,   "@<",                  MarkerMatch::Maybe),
        (&any,   "@<a",                 MarkerMatch::Maybe),
        (&any,   "@<>",                 MarkerMatch::No),
        (&any,   "@<a<",                MarkerMatch::No),
        (&any,   "@<a\n",               MarkerMatch::No),
        (&any,   "@a",                  MarkerMatch::No),
    ];
    for (marker, text, want) in cases {
        assert_eq!(marker.check(text.as_bytes(), TextAhead::More), want, "{text}");
    }
    let long = format!("<tool a=\"{}", "x".repeat(MAX_FREE_BYTES));
    assert_eq!(
        tool.check(long.as_bytes(), TextAhead::More),
        MarkerMatch::No,
        "too many attribute bytes"
    );
}
