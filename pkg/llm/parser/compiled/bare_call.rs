//! Recognition of calls without a marker.

use crate::{
    ahead::{
        found::{MarkerMatch, TextAhead},
        name_check::NameCheck,
        shape::check_name,
    },
    builder::description::BareCall,
    grammar::{looks_like_call_line, looks_like_calls},
    marker::Marker,
};
use forgeline_json::{slice, subslice};

/// Returns the ASCII characters, as one bit each, with which a call in one of `forms` may begin.
pub(crate) fn firsts_of(forms: &[(BareCall, usize)]) -> u128 {
    let may_begin = |byte: &u8| {
        let (first, is_no) =
            ([*byte], |found| matches!(found, MarkerMatch::No | MarkerMatch::Mention(_)));
        let text = str::from_utf8(&first).unwrap_or_default();
        !forms.iter().all(|(kind, _)| is_no(looks_like_call(*kind, text, false)))
    };
    (0..128).filter(may_begin).fold(0, |all, byte| all | 1 << byte)
}

/// Checks `text`, the start of a message, for a call; returns `Yes` with the number of bytes before
/// it. With `after_call`, another call came directly before, and a semicolon may separate them.
pub(crate) fn looks_like_call(kind: BareCall, text: &str, after_call: bool) -> MarkerMatch {
    let bytes = text.as_bytes();
    let mut lead = whitespace(bytes, 0);
    let is_next = after_call && bytes.get(lead) == Some(&b';');
    if is_next {
        lead = whitespace(bytes, lead + 1);
    }
    let rest = subslice(bytes, lead..);
    if rest.is_empty() {
        return MarkerMatch::Maybe;
    }
    let found = match kind {
        BareCall::NextJson if !is_next => MarkerMatch::No,
        BareCall::Json | BareCall::NextJson => json(rest),
        BareCall::Recipient => recipient(rest),
        BareCall::Python => looks_like_calls(rest),
        BareCall::PythonLines => looks_like_call_line(rest),
        BareCall::Syntax { offered, .. } => {
            let call = Marker::call("call:").check(rest, TextAhead::More);
            let is_name = offered == NameCheck::IfKnown && !matches!(call, MarkerMatch::Yes(_));
            match check_name(rest, b"{") {
                _ if !is_name => call,
                MarkerMatch::No => check_name(rest, b"("),
                found @ (MarkerMatch::Maybe | MarkerMatch::Yes(_) | MarkerMatch::Mention(_)) => {
                    found
                }
            }
        }
        BareCall::Name(marker) | BareCall::Header(marker, _) => check_name(rest, marker.as_bytes()),
        BareCall::Id(marker) => id(rest, marker.as_bytes()),
        BareCall::Word(word) => return after_word(word, rest, lead),
    };
    found.and_then(|_| MarkerMatch::Yes(lead))
}

/// Returns the name that a call without a marker begins with; `None` if its arguments come first.
pub(crate) fn name_of(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = whitespace(bytes, 0);
    if bytes.get(at) == Some(&b'[') {
        at = whitespace(bytes, at + 1);
    }
    if bytes.get(at) != Some(&b'{') {
        return slice(text, at..).split_once('(').map(|(name, _)| name.trim());
    }
    at = whitespace(bytes, at + 1);
    loop {
        let key = key(bytes, &mut at).ok()?;
        match (key, bytes.get(at)?) {
            (CallKey::Name | CallKey::Function, quote @ (b'"' | b'\'')) => {
                let rest = slice(text, at + 1..);
                return rest.split_once(char::from(*quote)).map(|(name, _)| name);
            }
            (CallKey::Function, b'{') => at = whitespace(bytes, at + 1),
            _ => {
                skip_value(bytes, &mut at).ok()?;
                at = whitespace(bytes, at + 1);
            }
        }
    }
}

fn whitespace(bytes: &[u8], from: usize) -> usize {
    let rest = subslice(bytes, from..);
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn after_word(word: &str, rest: &[u8], lead: usize) -> MarkerMatch {
    let shared = word.bytes().zip(rest).take_while(|(byte, seen)| byte == *seen).count();
    match rest.get(shared) {
        None => MarkerMatch::Maybe,
        Some(first @ (b'[' | b'{')) if shared == word.len() => {
            let wanted = if *first == b'[' { b'{' } else { b'"' };
            match rest.get(whitespace(rest, shared + 1)) {
                None => MarkerMatch::Maybe,
                Some(next) if *next == wanted => MarkerMatch::Yes(lead + shared),
                Some(_) => MarkerMatch::No,
            }
        }
        Some(_) => MarkerMatch::No,
    }
}

/// Checks for an id such as `functions.name:0`, then `marker` and an object.
fn id(text: &[u8], marker: &[u8]) -> MarkerMatch {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(byte);
    let id = text.iter().take_while(is_part).count();
    let behind = whitespace(text, id);
    let rest = subslice(text, behind..);
    let digits = text.iter().take(id).rev().take_while(|byte| byte.is_ascii_digit()).count();
    let has_index = digits > 0 && subslice(text, ..id - digits).len() > 1;
    let has_index = has_index && subslice(text, ..id - digits).ends_with(b":");
    if id == 0 || (id < text.len() && !has_index) {
        return MarkerMatch::No;
    }
    match rest.get(marker.len()..) {
        _ if !rest.starts_with(marker) && !marker.starts_with(rest) => MarkerMatch::No,
        None => MarkerMatch::Maybe,
        Some(payload) => match payload.trim_ascii_start().first() {
            None => MarkerMatch::Maybe,
            Some(first) => {
                if *first == b'{' {
                    MarkerMatch::Yes(0)
                } else {
                    MarkerMatch::No
                }
            }
        },
    }
}

/// Checks for the rest of a header whose beginning is in the prompt.
fn recipient(rest: &[u8]) -> MarkerMatch {
    const START: &[u8] = b"to=";
    const END: &[u8] = b"<|message|>";
    let shared = START.iter().zip(rest).take_while(|(byte, seen)| byte == seen).count();
    if shared < START.len().min(rest.len()) {
        return MarkerMatch::No;
    }
    if [&b"to=assistant<"[..], b"to=assistant ", b"to=user<", b"to=user "]
        .iter()
        .any(|plain| rest.starts_with(plain))
    {
        return MarkerMatch::No;
    }
    if memchr::memmem::find(rest, END).is_some() { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe }
}

/// The meaning of a key of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallKey {
    Name,
    Arguments,
    /// The key of `{"type":"function",…}`.
    Kind,
    /// A name, or an object with name and arguments.
    Function,
}

/// Checks for a JSON object, or the first object in an array: its first key must belong to a call, and its
/// second key must be the other half.
fn json(text: &[u8]) -> MarkerMatch {
    let mut at = 0;
    if text.first() == Some(&b'[') {
        at = whitespace(text, 1);
    }
    match text.get(at) {
        None => return MarkerMatch::Maybe,
        Some(b'{') => at = whitespace(text, at + 1),
        Some(_) => return MarkerMatch::No,
    }
    let first = match key(text, &mut at) {
        Ok(key) => key,
        Err(found) => return found,
    };
    if first == CallKey::Function && text.get(at) == Some(&b'{') {
        let mut inner = whitespace(text, at + 1);
        return match key(text, &mut inner) {
            Ok(CallKey::Name | CallKey::Arguments) => MarkerMatch::Yes(0),
            Ok(CallKey::Kind | CallKey::Function) => MarkerMatch::No,
            Err(found) => found,
        };
    }
    if let Err(found) = skip_value(text, &mut at) {
        return found;
    }
    match text.get(at) {
        None => return MarkerMatch::Maybe,
        Some(b',') => at = whitespace(text, at + 1),
        Some(_) => return MarkerMatch::No,
    }
    match (first, key(text, &mut at)) {
        (_, Err(found)) => found,
        (CallKey::Name | CallKey::Function, Ok(CallKey::Arguments))
        | (CallKey::Arguments | CallKey::Kind, Ok(CallKey::Name | CallKey::Function)) => {
            MarkerMatch::Yes(0)
        }
        (_, Ok(_)) => MarkerMatch::No,
    }
}

/// Returns the key at `*at`, and advances `*at` to the value after it.
fn key(text: &[u8], at: &mut usize) -> Result<CallKey, MarkerMatch> {
    const KEYS: [(&[u8], CallKey); 10] = [
        (b"_name", CallKey::Name),
        (b"name", CallKey::Name),
        (b"tool_name", CallKey::Name),
        (b"tool", CallKey::Name),
        (b"arguments", CallKey::Arguments),
        (b"args", CallKey::Arguments),
        (b"parameters", CallKey::Arguments),
        (b"input", CallKey::Arguments),
        (b"type", CallKey::Kind),
        (b"function", CallKey::Function),
    ];
    let quote = match text.get(*at) {
        None => return Err(MarkerMatch::Maybe),
        Some(quote @ (b'"' | b'\'')) => *quote,
        Some(_) => return Err(MarkerMatch::No),
    };
    let rest = subslice(text, *at + 1..);
    let Some(length) = memchr::memchr(quote, rest) else {
        let may_become = KEYS.iter().any(|(name, _)| name.starts_with(rest));
        return Err(if may_become { MarkerMatch::Maybe } else { MarkerMatch::No });
    };
    let name = subslice(rest, ..length);
    let Some((_, key)) = KEYS.iter().find(|(known, _)| *known == name) else {
        return Err(MarkerMatch::No);
    };
    *at = whitespace(text, *at + length + 2);
    match text.get(*at) {
        None => Err(MarkerMatch::Maybe),
        Some(b':') => {
            *at = whitespace(text, *at + 1);
            Ok(*key)
        }
        Some(_) => Err(MarkerMatch::No),
    }
}

/// Advances `*at` past the value and the whitespace after it.
fn skip_value(text: &[u8], at: &mut usize) -> Result<(), MarkerMatch> {
    let (mut depth, mut quote, mut is_escaped) = (0_u32, None, false);
    while let Some(&byte) = text.get(*at) {
        match (quote, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']' | b',') if depth == 0 => return Ok(()),
            (None, b'}' | b']') => depth -= 1,
            (None, _) => {}
        }
        *at += 1;
    }
    Err(MarkerMatch::Maybe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_read_where_it_stands_before_the_arguments() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"name": "f", "parameters":"#,                   Some("f")),
            (r#" [ {"type":"function","name":'g',"#,             Some("g")),
            (r#"{"function": {"name": "h", "arguments":"#,       Some("h")),
            (r#"{"type": "function", "function": "f", "args":"#, Some("f")),
            (r#"{"parameters": {"name": "x"}, "name":"#,         None),
            ("[f(a=1)",                                          Some("f")),
            ("",                                                 None),
        ];
        for (text, want) in cases {
            assert_eq!(name_of(text), want, "{text}");
        }
    }

    // Found: S6
    #[test]
    fn only_what_has_both_halves_of_a_call_looks_like_one() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"name": "f", "parameters""#,             MarkerMatch::Maybe),
            (r#"{"function": {"_name":"#,                 MarkerMatch::Yes(0)),
            (r#"{"name": "f", "parameters":"#,            MarkerMatch::Yes(0)),
            (r#"  {"arguments": {"a": "}"}, "name":1"#,   MarkerMatch::Yes(2)),
            (r#"{"arguments": {"a": "\"}}"}, "name":"#,   MarkerMatch::Yes(0)),
            (r#"{"arguments": {"a": "\\"}, "name":"#,     MarkerMatch::Yes(0)),
            (r#"{"arguments": {"a": "\"}, "name":"#,      MarkerMatch::Maybe),
            (r#"{"type": "function", "name":"#,           MarkerMatch::Yes(0)),
            (r#"{"type": "function", "function":"#,       MarkerMatch::Yes(0)),
            (r#"{"function": {"name":"#,                  MarkerMatch::Yes(0)),
            (r#"[{"name": "f", "arguments":"#,            MarkerMatch::Yes(0)),
            (r#"{"name": "Bob", "age":"#,                 MarkerMatch::No),
            (r#"{"name": "Bob"}"#,                        MarkerMatch::No),
            (r#"{"name": "f", "type":"#,                  MarkerMatch::No),
            (r#"{"nam"#,                                  MarkerMatch::Maybe),
            (r#"{"nami"#,                                 MarkerMatch::No),
            (r#"{"a""#,                                   MarkerMatch::No),
            ("{ is a brace",                              MarkerMatch::No),
            ("[1, 2]",                                    MarkerMatch::No),
            ("[ ",                                        MarkerMatch::Maybe),
            ("Text",                                      MarkerMatch::No),
            ("\n",                                        MarkerMatch::Maybe),
        ];
        for (text, want) in cases {
            assert_eq!(looks_like_call(BareCall::Json, text, false), want, "{text}");
        }
        let next = r#" ; {"name":"f","args":"#;
        assert_eq!(looks_like_call(BareCall::Json, next, true), MarkerMatch::Yes(3));
        assert_eq!(looks_like_call(BareCall::Json, next, false), MarkerMatch::No);
        let word = BareCall::Word("functools");
        assert_eq!(looks_like_call(word, " functools[ {", false), MarkerMatch::Yes(10));
        assert_eq!(looks_like_call(word, "functool", false), MarkerMatch::Maybe);
        assert_eq!(looks_like_call(word, "function", false), MarkerMatch::No);
        let name = BareCall::Name("<|call|>");
        assert_eq!(looks_like_call(name, "\nget_it<|call|>", false), MarkerMatch::Yes(1));
        assert_eq!(looks_like_call(name, "get_it<|ca", false), MarkerMatch::Maybe);
        assert_eq!(looks_like_call(name, "<|ca", false), MarkerMatch::No);
        assert_eq!(looks_like_call(name, "get it", false), MarkerMatch::No);
        let syntax = BareCall::Syntax { quote: "'", offered: NameCheck::Always };
        assert_eq!(looks_like_call(syntax, "\ncall:a.b-c{", false), MarkerMatch::Yes(1));
        assert_eq!(looks_like_call(syntax, "call:f", false), MarkerMatch::Maybe);
        assert_eq!(looks_like_call(syntax, "call: f{", false), MarkerMatch::No);
        assert_eq!(looks_like_call(syntax, "call:f (", false), MarkerMatch::No);
        let id = BareCall::Id("<|call|>");
        assert_eq!(looks_like_call(id, " functions.f:0 <|call|> {", false), MarkerMatch::Yes(1));
        assert_eq!(looks_like_call(id, "functions.f:0", false), MarkerMatch::Maybe);
        assert_eq!(looks_like_call(id, "functions.f:0 <|ca", false), MarkerMatch::Maybe);
        assert_eq!(looks_like_call(id, "functions.f <|call|>{", false), MarkerMatch::No);
        assert_eq!(looks_like_call(id, "functions.f:0<|call|> is", false), MarkerMatch::No);
        assert_eq!(looks_like_call(id, "at 12:0 we", false), MarkerMatch::No);
    }
}
