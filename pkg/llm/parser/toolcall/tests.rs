//! The bounds of a call: closers in strings and values, and offsets of calls that share a place.

use std::fmt::Write;

use crate::{
    ParseOutcome, ParsedContent, ToolCallParser, ToolDialect, builder::special_tokens::strays,
    families,
};

/// Longest text that is held back behind an ambiguous closer, in bytes with the closer.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Reads `pieces` and shows text as it is and each call as `[NAME OUTCOME ARGUMENTS]`.
fn read<'t>(dialect: &str, pieces: impl IntoIterator<Item = &'t str>) -> String {
    read_with(parser(dialect), pieces)
}

fn parser(dialect: &str) -> ToolCallParser {
    ToolCallParser::new(&ToolDialect::by_name(dialect).unwrap())
}

fn read_with<'t>(mut parser: ToolCallParser, pieces: impl IntoIterator<Item = &'t str>) -> String {
    let (mut shown, mut name, mut arguments) = (String::new(), String::new(), String::new());
    let out = &mut |content: ParsedContent<'_>| match content {
        ParsedContent::Text(text) => shown.push_str(text),
        ParsedContent::CallName(text) => name.push_str(text),
        ParsedContent::CallArguments(text) | ParsedContent::CallVerbatim(text) => {
            arguments.push_str(text);
        }
        ParsedContent::CallEnd { outcome, .. } => {
            match outcome {
                ParseOutcome::Complete => write!(shown, "[{name} {arguments}]").unwrap(),
                ParseOutcome::Incomplete => write!(shown, "[{name} incomplete]").unwrap(),
                ParseOutcome::Malformed { offset, .. } => {
                    write!(shown, "[{name} @{offset}]").unwrap()
                }
            }
            name.clear();
            arguments.clear();
        }
        ParsedContent::Marker(_)
        | ParsedContent::Inline(_)
        | ParsedContent::CallStart
        | ParsedContent::CallId(_)
        | ParsedContent::CallServer(_)
        | ParsedContent::CallBody(_)
        | ParsedContent::CallSource(_)
        | ParsedContent::OpenerInCode => {}
    };
    pieces.into_iter().for_each(|piece| parser.parse(piece, out));
    parser.flush(true, out);
    shown
}

/// Reads `text` whole and in two pieces, cut at every byte up to `last_cut`; all must agree.
fn read_cut(dialect: &str, text: &str, last_cut: usize) -> String {
    let whole = read(dialect, [text]);
    for cut in (0..last_cut.min(text.len())).filter(|at| text.is_char_boundary(*at)) {
        let (head, tail) = text.split_at(cut);
        assert_eq!(read(dialect, [head, tail]), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn the_first_tag_in_a_block_calls_however_much_follows_it() {
    for length in [10, 340, 400, 1000] {
        let text = format!("<minimax:tool_call>\n<invoke name=\"f\">{}", "x".repeat(length));
        assert_eq!(read_cut("auto", &text, 60), "\n[f incomplete]", "{length}");
    }
}

// Found: S1
#[test]
fn the_offset_of_a_mistake_counts_from_the_start_of_its_own_call() {
    let lone = r#"<tool_call>{"name":"h","arguments":{x y}}</tool_call>"#;
    let array = r#"<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>"#;
    let both = format!("{array}{lone}");
    assert_eq!(read_cut("hermes", lone, usize::MAX), "[h @27]");
    assert_eq!(read_cut("hermes", &both, usize::MAX), "[f {}][g {}][h @27]");
}

#[test]
fn calls_of_one_form_each_have_the_whole_limit() {
    let text = r#"<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>"#.repeat(3);
    let limited = |bytes| read_with(parser("hermes").max_call_bytes(bytes), [text.as_str()]);
    assert_eq!(limited(27), "[f {}][g {}]".repeat(3));
    assert_eq!(limited(26), "[f {}][g @12]");
}

// Found: S3
#[test]
fn a_closer_in_a_key_is_data() {
    let text = r#"<tool>{"tool_name":"f","arguments":{"a</tool>b" : 1}}</tool>"#;
    assert_eq!(read_cut("forge", text, usize::MAX), r#"[f {"a</tool>b" : 1}]"#);
}

// Found: S2
#[test]
fn a_closer_in_a_string_is_data_once_more_than_64_kib_follow_it() {
    let start = r#"<tool>{"tool_name":"f","arguments":{"a":""#;
    let held = MAX_HELD_BYTES - "</tool>\"".len();
    for (length, is_data) in [(held - 1, false), (held, true)] {
        let inside = "b".repeat(length);
        let text = format!("{start}</tool>{inside}\"+");
        let want = if is_data {
            format!("[f @{}]", 35 + MAX_HELD_BYTES)
        } else {
            format!("[f @35]{inside}\"+")
        };
        let shown = read("forge", [text.as_str()]);
        assert!(shown == want, "{length}: {:.12} … {} bytes", shown, shown.len());
        let pieces = text.as_bytes().chunks(1000).map(|piece| str::from_utf8(piece).unwrap());
        assert!(read("forge", pieces) == want, "{length}: in pieces");
    }
    // No more is held, though the string has not ended.
    let (mut given, mut parser) = (0, parser("forge"));
    for piece in [start, "</tool>"].into_iter().chain(vec!["bbbb"; MAX_HELD_BYTES / 4]) {
        parser.parse(piece, &mut |content| {
            if let ParsedContent::CallBody(text) | ParsedContent::CallVerbatim(text) = content {
                given += text.len();
            }
        });
    }
    assert!(given > MAX_HELD_BYTES, "{given} bytes");
}

// Found: S2
#[test]
fn a_closer_in_a_value_is_data_once_more_than_64_kib_follow_it() {
    let start = "<tool_call>\n<function=f>\n<parameter=a>\n";
    let held = MAX_HELD_BYTES - "</tool_call>".len();
    for (length, is_data) in [(held, false), (held + 1, true)] {
        let inside = "b".repeat(length);
        let text = format!("{start}</tool_call>{inside}");
        let want = if is_data {
            "[f incomplete]".to_owned()
        } else {
            format!("[f {{\"a\":\"\"}}]{inside}")
        };
        let shown = read("qwen3-coder", [text.as_str()]);
        assert!(shown == want, "{length}: {:.12} … {} bytes", shown, shown.len());
        let pieces = text.as_bytes().chunks(1000).map(|piece| str::from_utf8(piece).unwrap());
        assert!(read("qwen3-coder", pieces) == want, "{length}: in pieces");
    }
}

/// Returns every family's tokens with the name of its dialect.
fn turn_ends() -> impl Iterator<Item = (&'static str, &'static str)> {
    let named = families::all().filter_map(|family| Some((family.tools?.name, family.turn_ends)));
    named.flat_map(|(name, ends)| ends.iter().map(move |end| (name, *end)))
}

// Found: PEER
#[test]
fn tokens_that_end_a_turn_are_framing_at_the_end_of_an_answer() {
    assert!(turn_ends().count() > 60);
    for (name, end) in turn_ends() {
        let text = format!("It is 42.{end}");
        assert_eq!(read_cut(name, &text, usize::MAX), "It is 42.", "{name}");
        let run = format!("It is 42. \n{end} \n{end}{end}\n");
        assert_eq!(read_cut(name, &run, usize::MAX), "It is 42. \n", "{name}");
        let fence = format!("```\nlet x = 1;{end}");
        assert_eq!(read_cut(name, &fence, usize::MAX), "```\nlet x = 1;", "{name}");
        assert_eq!(read_cut(name, end, usize::MAX), "", "{name}");
    }
}

// Found: PEER
#[test]
fn tokens_that_end_a_turn_are_text_elsewhere() {
    for (name, end) in turn_ends() {
        let front = end.strip_suffix(['>', '[', ']']).unwrap();
        for text in
            [format!("Write {end} last."), format!("`{end}`"), format!("{end}\n{end} {end}x")]
        {
            assert_eq!(read_cut(name, &text, usize::MAX), text, "{name}");
        }
        assert_eq!(read_cut("none", end, usize::MAX), end);
        let cut = format!("It is 42.{front}");
        assert_eq!(read_cut(name, &cut, usize::MAX), cut, "{name}");
    }
    // A thing of another kind follows: the answer goes on.
    let (mut parser, mut shown) = (parser("hermes"), String::new());
    let out = &mut |content: ParsedContent<'_>| {
        if let ParsedContent::Text(text) = content {
            shown.push_str(text);
        }
    };
    parser.parse("a<|im_end|>\n", out);
    parser.end_section(out);
    parser.parse("b<|im_end|>", out);
    parser.flush(true, out);
    assert_eq!(shown, "a<|im_end|>\nb");
}

// Found: PEER
#[test]
fn a_run_of_more_than_256_bytes_is_text() {
    for (spaces, is_framing) in [(236, true), (237, false)] {
        let front = format!("<|im_end|>{}", " ".repeat(spaces));
        let run = format!("{front}<|im_end|>");
        let want = if is_framing { "" } else { &front };
        assert_eq!(read_cut("hermes", &run, usize::MAX), want, "{spaces}");
    }
}

// Found: PEER
#[test]
fn in_auto_the_tokens_count_that_prose_does_not_hold() {
    for (name, end) in turn_ends() {
        let is_special =
            end.contains(['|', '｜']) || ["<eos>", "<end_of_turn>", "[e~["].contains(&end);
        let text = format!("It is 42.{end}");
        let want = if is_special { "It is 42." } else { &text };
        assert_eq!(read_cut("auto", &text, usize::MAX), want, "{name}");
    }
}

// Found: PEER
#[test]
fn behind_a_call_the_token_of_sentence_piece_ends_a_turn_too() {
    for dialect in ToolDialect::all().into_iter().filter(|it| !it.is_none()) {
        let (name, example) = (dialect.name(), dialect.example());
        let call = read(name, [example]);
        assert!(call.contains("[calculator "), "{name}: {call}");
        for end in ["</s>", "\n</s>\n", "</s></s>"] {
            let shown = read_cut(name, &format!("{example}{end}"), usize::MAX);
            assert_eq!(shown.trim_ascii(), call.trim_ascii(), "{name}");
        }
        let prose = "<s>gone</s>";
        assert_eq!(read_cut(name, prose, usize::MAX), prose, "{name}");
        let behind = format!("{example}</s> x");
        assert_eq!(read_cut(name, &behind, usize::MAX), format!("{call}</s> x"), "{name}");
        for (_, end) in turn_ends().filter(|(of, _)| *of == name) {
            let shown = read_cut(name, &format!("{example}{end}"), usize::MAX);
            assert_eq!(shown, call, "{name}: {end}");
        }
    }
}

/// Returns every family's special tokens that open nothing, with the name of its dialect.
fn stray_tokens() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for family in families::all() {
        let Some(tools) = family.tools else { continue };
        let tokens = strays(&tools, family.strays).into_iter().map(|(token, _)| token.spelling());
        let tokens = tokens.filter(|token| !family.turn_ends.contains(&token.as_str()));
        all.extend(tokens.map(|token| (tools.name, token)));
    }
    all
}

// Found: PEER, P13
#[test]
fn special_tokens_that_open_nothing_are_framing() {
    let openers: Vec<_> = families::all()
        .filter_map(|family| family.tools)
        .flat_map(|tools| {
            let calls = tools.calls.iter().map(|call| call.opener);
            calls.chain(tools.wrappers.iter().map(|wrapper| wrapper.opener))
        })
        .map(|opener| opener.spelling())
        .collect();
    let tokens = stray_tokens();
    assert!(tokens.len() > 100, "{tokens:?}");
    for (name, token) in tokens.iter().filter(|(_, token)| !openers.contains(token)) {
        for (text, want) in [
            (format!("one{token} two"), "one two"),
            (format!("{token}one{token}{token}"), "one"),
            (format!("`one{token}`"), "`one`"),
            (format!("```\none{token}\n```"), "```\none\n```"),
        ] {
            assert_eq!(read_cut(name, &text, usize::MAX), want, "{name}: {text}");
        }
        let in_auto = format!("one{token} two");
        assert_eq!(read_cut("auto", &in_auto, usize::MAX), in_auto, "{name}");
    }
}

// Found: PEER, P17
#[test]
fn a_special_token_that_the_end_cuts_is_text_unless_a_whole_one_is_before_it() {
    let tokens = stray_tokens();
    let has_token = |cut: &str| tokens.iter().any(|(_, token)| cut.starts_with(token.as_str()));
    for (name, token) in &tokens {
        let Some(bar) = token.find(['|', '｜']) else { continue };
        for end in (bar + 1..token.len()).filter(|end| token.is_char_boundary(*end)) {
            let cut = token.split_at(end).0;
            if has_token(cut) {
                continue;
            }
            let text = format!("It is 42. {cut}");
            let want = if cut.contains('>') { "It is 42. " } else { &text };
            assert_eq!(read_cut(name, &text, usize::MAX), want, "{name}: {cut}");
            let text = format!("a {cut} b");
            assert_eq!(read_cut(name, &text, usize::MAX), text, "{name}: {cut}");
        }
        assert_eq!(read_cut(name, "a <", usize::MAX), "a <");
        assert_eq!(read_cut("auto", "f <|", usize::MAX), "f <|");
    }
}

// Found: PEER
#[test]
fn a_block_that_is_repeated_without_its_opener_runs_once() {
    let list = "[f(a=['x)', \"]\"]), g()]";
    let call = format!("<|tool_call_start|>{list}<|tool_call_end|>");
    let called = r#"[f {"a":["x)","]"]}][g {}]"#;
    let read = |text: &str| read_cut("pythonic", text, usize::MAX);
    assert_eq!(read(&format!("{call}{list}<|tool_call_end|>")), called);
    assert_eq!(
        read(&format!("{call}\n{list} \n<|tool_call_end|>{list}<|tool_call_end|>So.")),
        format!("{called}So.")
    );
    assert_eq!(read(&format!("{call}{list}")), format!("{called}{called}"));
    assert_eq!(read(&format!("{call}{list}{call}")), called.repeat(3));
    assert_eq!(read(&format!("{call}{list} and so on")), format!("{called}{called} and so on"));
    assert_eq!(read(&format!("{list}{list}<|tool_call_end|>")), called.repeat(2));
    let long = format!("[f(a='{}')]", "x".repeat(MAX_HELD_BYTES));
    let shown = super::tests::read("pythonic", [format!("{call}{long}<|tool_call_end|>").as_str()]);
    assert!(shown.matches("[f ").count() == 2, "{shown:.40}");
}

// Found: P18
#[test]
fn text_behind_a_call_in_an_open_span_is_kept_at_the_end() {
    for dialect in [ToolDialect::AUTO, ToolDialect::FORGE] {
        for pieces in [
            &["a ` <tool>{\"tool_name\":\"f\"}</tool> c"][..],
            &["a ` <tool>{\"tool_name\":\"f\"}</tool>", " ", "c"],
        ] {
            let mut parser = ToolCallParser::new(&dialect);
            let mut text = String::new();
            let mut out = |content: ParsedContent<'_>| {
                if let ParsedContent::Text(piece) = content {
                    text.push_str(piece);
                }
            };
            for piece in pieces {
                parser.parse(piece, &mut out);
            }
            parser.flush(true, &mut out);
            assert_eq!(text, "a `  c", "{dialect:?}");
        }
    }
}

// Found: P18
#[test]
fn what_follows_an_opener_is_judged_by_as_many_bytes_at_any_cut() {
    let attributes = format!("<tool name=\"{}\">", "x".repeat(240));
    let note = format!("<!--{}-->", "n".repeat(300));
    let blanks = " ".repeat(400);
    let nothing = String::new();
    #[rustfmt::skip]
    let cases = [
        ("forge",       format!("<tool>{note}<tool_name>f</tool_name></tool>"), &nothing),
        ("forge",       format!("{attributes}{note}<tool_name>f</tool_name></tool>"), &nothing),
        ("forge",       format!("{attributes}{{ /*{note}*/ \"a\":1}}</tool>"), &"[ @320]".into()),
        ("forge",       format!("<TOOL>{{ //{note}\n\"tool_name\":\"f\"}}</tool>"), &nothing),
        ("qwen3-coder", format!("<function=f{blanks}></function>"), &"[f {}]".into()),
        ("qwen3-coder", format!("<function={blanks}></function>"), &nothing),
        ("minicpm5",    format!("<function name=\"f{blanks}\"></function>"), &"[f {}]".into()),
        ("minicpm5",    format!("<function name=\"f\"{blanks}></function>"), &"[f {}]".into()),
        ("glm",         format!("<tool_call>\t{}", "f".repeat(130)), &nothing),
        ("hermes",      format!("<tool_call>\t{}", "f".repeat(130)), &nothing),
        ("gemma4",      format!("<|tool_call> call:{}", "f".repeat(130)), &nothing),
    ];
    for (dialect, text, call) in cases {
        let want = if call.is_empty() { &text } else { call };
        for size in [1, 7, 63, 200, text.len()] {
            let pieces = text.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap());
            assert_eq!(read(dialect, pieces), *want, "{dialect}: {size} bytes each");
        }
    }
}

// Found: S3
#[test]
fn a_closer_that_begins_like_no_tag_counts_in_a_string_at_any_cut() {
    let text = "**Tool Call:**\n```json\n{\"name\":\"f\",\"arguments\":{\"a\":\"x ``` y\"z";
    let shown = read("rwkv", text.split_inclusive(|_| true));
    assert_eq!(shown, "[f @33] y\"z");
    assert_eq!(read_cut("rwkv", text, usize::MAX), shown);
}

// Found: P17
#[test]
fn the_end_of_a_function_that_is_none_is_kept() {
    for (dialect, text) in [
        ("dots", "<invoke=x</invoke>"),
        ("auto", "<|open|>call=x<|close|>call<|sep|> It is 42."),
        ("kimi-k3", "<|open|>call=x<|close|>call<|sep|>"),
        ("qwen3-coder", "<function x></function>"),
        ("minimax-m2", "<invoke x></invoke> It is 42."),
    ] {
        for bytes in [1, 3, text.len()] {
            let mut joined = String::new();
            let mut calls = parser(dialect);
            let mut out = |content: ParsedContent<'_>| {
                if let ParsedContent::Text(text)
                | ParsedContent::Marker(text)
                | ParsedContent::Inline(text)
                | ParsedContent::CallBody(text)
                | ParsedContent::CallVerbatim(text) = content
                {
                    joined.push_str(text);
                }
            };
            for piece in pieces(text, bytes) {
                calls.parse(piece, &mut out);
            }
            calls.flush(true, &mut out);
            assert_eq!(joined, text, "{dialect}, pieces of {bytes} bytes");
        }
    }
}

// Found: S3
#[test]
fn what_an_opener_cannot_hold_decides_at_any_cut() {
    for tools in families::all().filter_map(|family| family.tools) {
        let example = tools.example;
        for at in (0..=example.len()).filter(|at| example.is_char_boundary(*at)) {
            let (head, tail) = example.split_at(at);
            for inside in ["=t\u{1}<m", "\u{1}>", "\u{0}<|"] {
                for text in [format!("{head}{inside}"), format!("{head}{inside}{tail}")] {
                    for dialect in [tools.name, "auto"] {
                        let whole = read(dialect, [text.as_str()]);
                        for bytes in [1, at.max(1)] {
                            let shown = read(dialect, pieces(&text, bytes));
                            assert_eq!(
                                shown, whole,
                                "{dialect}: {text:?}, pieces of {bytes} bytes"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Cuts `text` into pieces of at most `bytes` bytes.
fn pieces(mut text: &str, bytes: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.ceil_char_boundary(bytes.min(text.len())));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[test]
fn what_the_fast_way_takes_reads_the_same_in_pieces_of_any_size() {
    let value = "let v: Vec<u8> = a <b && c;\n\tif x == \"y\\n\" { </p> }\r\n<th> it's é\u{1} {\"k\": \"a\\nb\"}\n\n `<tool` [TOOL a[i] end";
    let json = serde_json::Value::from(value).to_string();
    let list = format!("{{\"k\": {json}");
    let entities = value.replace('&', "&amp;").replace('<', "&lt;");
    let schema = serde_json::json!({"type": "object", "properties": {
        "content": {"type": "string"}, "list": {"type": ["string", "array"]},
    }});
    let schemas: std::sync::Arc<[_]> = std::sync::Arc::from([("write".into(), schema.into())]);
    #[rustfmt::skip]
    let texts = [
        ("forge",       format!("<tool><tool_name>write</tool_name><arguments><content>{entities} & &lt</content></arguments></tool>")),
        ("forge",       format!("<tool>{{\"tool_name\":\"write\",\"arguments\":{{\"content\":{json}}}}}</tool>")),
        ("hermes",      format!("<tool_call>{{\"name\":\"write\",\"arguments\":{{\"content\":{json}}}}}</tool_call>")),
        ("qwen3-coder", format!("<tool_call>\n<function=write>\n<parameter=content>\n{value}\n</parameter>\n<parameter=list>\n{list}\n</parameter>\n</function>\n</tool_call>")),
        ("minimax-m2",  format!("<minimax:tool_call>\n<invoke name=\"write\">\n<parameter name=\"content\">{value}</parameter>\n<parameter name=\"list\">{list}</parameter>\n</invoke>\n</minimax:tool_call>")),
        ("gemma4",      format!("<|tool_call>call:write{{content:<|\"|>{value}<|\"|>}}<tool_call|>")),
        ("pythonic",    format!("[write(content={json})]")),
        ("mistral",     format!("[TOOL_CALLS]write[ARGS]{{\"content\": {json}}}")),
        ("auto",        format!("Some `code` <b>\n```\n<x>\n```\n<tool_call>{{\"name\":\"write\",\"arguments\":{{\"content\":{json}}}}}</tool_call>")),
        ("glm",         format!("<tool_call>write\n<arg_key>content</arg_key>\n<arg_value>{value}</arg_value>\n<arg_key>list</arg_key>\n<arg_value>{list}</arg_value>\n</tool_call>")),
    ];
    for (dialect, text) in texts {
        let read =
            |bytes| read_with(parser(dialect).schemas(schemas.clone()), pieces(&text, bytes));
        let whole = read(text.len());
        assert!(whole.contains("[write {"), "{whole}");
        for bytes in 1..70 {
            assert_eq!(read(bytes), whole, "{dialect}: pieces of {bytes} bytes");
        }
    }
}

#[test]
fn a_string_that_ends_anywhere_is_given_whole() {
    let text = r#"<tool_call>{"name":"f","arguments":{"a":"x\n\"\\ </tool_call> \t\/\u00e9\x\\\\ c","d":"\n"}}</tool_call>
        <tool_call>{"name":"g","arguments":{"a":"\b\f\r"}}</tool_call>"#;
    given_whole_however_it_is_cut("hermes", text);
}

#[test]
fn an_entity_that_ends_anywhere_is_given_whole() {
    let text = "<tool><tool_name>f</tool_name><arguments><a>x &lt;b&gt; &amp;&amp; &quot;&apos;&am; &l &#65;\n\
                &no;&amp;lt;&</a><b>&quot;</b></arguments></tool> and <tool><tool_name>f</tool_name>\
                <arguments><a>&lt;&lt;&lt;</a></arguments></tool>";
    given_whole_however_it_is_cut("forge", text);
}

/// Reads each front of `text`, and the whole with each limit, in pieces of some sizes.
fn given_whole_however_it_is_cut(dialect: &str, text: &str) {
    let schema =
        serde_json::json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let schemas: std::sync::Arc<[_]> = std::sync::Arc::from([("f".into(), schema.into())]);
    let given = |text: &str, bytes, max_bytes| {
        let (mut body, mut arguments, mut others) = (String::new(), String::new(), String::new());
        let parser = parser(dialect).schemas(schemas.clone());
        let mut parser = parser.max_call_bytes(max_bytes);
        let out = &mut |content: ParsedContent<'_>| match content {
            ParsedContent::Text(text) | ParsedContent::Marker(text) => others.push_str(text),
            ParsedContent::CallBody(text) => body.push_str(text),
            ParsedContent::CallVerbatim(text) => {
                body.push_str(text);
                arguments.push_str(text);
            }
            ParsedContent::CallArguments(json) => arguments.push_str(json),
            ParsedContent::CallEnd { outcome, .. } => write!(others, " {outcome:?} ").unwrap(),
            ParsedContent::Inline(_)
            | ParsedContent::OpenerInCode
            | ParsedContent::CallStart
            | ParsedContent::CallName(_)
            | ParsedContent::CallId(_)
            | ParsedContent::CallServer(_)
            | ParsedContent::CallSource(_) => {}
        };
        for piece in pieces(text, bytes) {
            parser.parse(piece, out);
        }
        parser.flush(true, out);
        (body, arguments, others, parser.over_limit_at().is_some())
    };
    let ends = text.char_indices().map(|(end, _)| (end, 1000));
    for (end, max_bytes) in ends.chain((20..text.len()).map(|max_bytes| (text.len(), max_bytes))) {
        let text = text.get(..end).unwrap();
        let whole = given(text, text.len().max(1), max_bytes);
        for bytes in [1, 2, 3, 4, 5, 7, 16, 40, 64] {
            let given = given(text, bytes, max_bytes);
            assert_eq!(given, whole, "{text}: pieces of {bytes} bytes, {max_bytes} at most");
        }
    }
}

#[test]
fn an_escape_counts_where_it_is_cut() {
    let begins_at = |first: &str| {
        let second = format!(r#"{{"name":"g","arguments":{{"a":"{}"#, "b".repeat(90));
        let text = format!(
            r#"<tool_call>{{"name":"f","arguments":{{"a":"{first}"}}}}</tool_call><tool_call>{second}"#
        );
        [1, 2, 3, 4, 5].map(|bytes| {
            let mut parser = parser("hermes").max_call_bytes(80);
            for piece in pieces(&text, bytes) {
                parser.parse(piece, &mut |_| {});
            }
            assert!(parser.over_limit_at().is_some());
            parser.over_limit_at()
        })
    };
    assert_eq!(begins_at(r#"\n\t \\\" \x \u00e9 \/"#), begins_at("abcd efgh ij klmnop qr"));
}
