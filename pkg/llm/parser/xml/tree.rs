//! XML arguments as JSON, once their element is whole.

use serde_json::Value;

use super::{
    entity,
    schema::{self, Form},
    token::{Token, Tokens},
};
use crate::llm::parser::json::escape_into;

/// Deepest nesting of elements.
const MAX_DEPTH: usize = 64;

/// One element: what is inside it, and the elements there.
#[derive(Debug, Default)]
struct Element {
    name: String,
    /// Its text, entities decoded, without that of its elements.
    text: String,
    /// Everything between its tags, entities decoded.
    inner: String,
    children: Vec<Element>,
}

/// Writes the content of an element as JSON of the form that `schema` asks for.
///
/// `as_items` gives a list's items without its brackets.
pub(super) fn write(
    xml: &str,
    schema: Option<&Value>,
    as_items: bool,
    out: &mut String,
) -> Result<(), &'static str> {
    let element = read(xml)?;
    if as_items { element.write_items(schema, out) } else { element.write(schema, out) }
}

/// Writes the members of an arguments element as a JSON object.
pub(super) fn write_object(
    xml: &str,
    schema: Option<&Value>,
    out: &mut String,
) -> Result<(), &'static str> {
    read(xml)?.write_object(schema, out)
}

fn read(xml: &str) -> Result<Element, &'static str> {
    let mut open = vec![Element::default()];
    let mut fault = None;
    let mut tokens = Tokens::new();
    tokens.feed(xml, &mut |token| {
        if let Err(reason) = add(&mut open, token) {
            fault.get_or_insert(reason);
        }
    });
    match (fault, open.pop()) {
        (Some(reason), _) => Err(reason),
        (None, Some(root)) if open.is_empty() => Ok(root),
        _ => Err("an XML element is not closed"),
    }
}

fn add(open: &mut Vec<Element>, token: Token<'_>) -> Result<(), &'static str> {
    match token {
        Token::Text(text) => {
            let text = entity::decode(text);
            add_text(open, &text);
            add_inner(open, &text);
        }
        Token::Cdata(text) => {
            add_text(open, text);
            add_inner(open, text);
        }
        Token::Aside(_) => {}
        Token::Tag { tag, .. } if tag.starts_with(['?', '!']) => {}
        Token::Tag { tag, .. } => {
            if let Some(name) = tag.strip_prefix('/') {
                let matches = open.len() > 1 && open.last().is_some_and(|e| e.name == name.trim());
                let Some(element) = matches.then(|| open.pop()).flatten() else {
                    return Err("an XML tag closes what is not open");
                };
                add_inner(open, &format!("<{tag}>"));
                if let Some(parent) = open.last_mut() {
                    parent.children.push(element);
                }
            } else {
                if open.len() > MAX_DEPTH {
                    return Err("the XML nests deeper than 64 elements");
                }
                add_inner(open, &format!("<{tag}>"));
                let element = Element { name: element_name(tag).to_owned(), ..Element::default() };
                if tag.ends_with('/') {
                    if let Some(parent) = open.last_mut() {
                        parent.children.push(element);
                    }
                } else {
                    open.push(element);
                }
            }
        }
    }
    Ok(())
}

fn add_text(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// The source of mixed content is kept in every element around it; depth is bounded.
fn add_inner(open: &mut [Element], text: &str) {
    for element in open.iter_mut().skip(1) {
        element.inner.push_str(text);
    }
    if let [root] = open {
        root.inner.push_str(text);
    }
}

/// The name in an opening tag.
pub(super) fn element_name(tag: &str) -> &str {
    tag.trim_end_matches('/').split_ascii_whitespace().next().unwrap_or_default()
}

impl Element {
    fn write(&self, schema: Option<&Value>, out: &mut String) -> Result<(), &'static str> {
        let is_mixed = !self.children.is_empty() && !self.text.trim().is_empty();
        match schema::form(schema) {
            Form::Text => {
                write_text(if self.children.is_empty() { &self.text } else { &self.inner }, out)
            }
            Form::List => {
                out.push('[');
                self.write_items(schema, out)?;
                out.push(']');
            }
            Form::Object if self.children.is_empty() && is_json(&self.text, '{') => {
                out.push_str(self.text.trim());
            }
            Form::Object => return self.write_object(schema, out),
            Form::Literal if is_mixed => write_text(&self.inner, out),
            Form::Literal if !self.children.is_empty() => return self.write_object(schema, out),
            Form::Literal => write_scalar(&self.text, schema, out),
        }
        Ok(())
    }

    fn write_items(&self, schema: Option<&Value>, out: &mut String) -> Result<(), &'static str> {
        let items = schema::items(schema);
        let text = self.text.trim();
        if self.children.is_empty() {
            if is_json(text, '[') {
                let inside = text.get(1..text.len() - 1).unwrap_or_default();
                out.push_str(inside.trim());
            } else if !text.is_empty() {
                self.write(items, out)?;
            }
            return Ok(());
        }
        // The elements inside are the items, unless the items are objects and these their members.
        if schema::form(items) == Form::Object
            && self.children.iter().all(|child| schema::member(items, &child.name).is_some())
        {
            return self.write_object(items, out);
        }
        for (at, child) in self.children.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            child.write(items, out)?;
        }
        Ok(())
    }

    fn write_object(&self, schema: Option<&Value>, out: &mut String) -> Result<(), &'static str> {
        out.push('{');
        let mut written: Vec<&str> = Vec::new();
        for child in &self.children {
            let name = child.name.as_str();
            if written.contains(&name) {
                continue;
            }
            if !written.is_empty() {
                out.push(',');
            }
            written.push(name);
            write_text(name, out);
            out.push(':');
            let member = schema::member(schema, name);
            let same: Vec<_> = self.children.iter().filter(|other| other.name == name).collect();
            if same.len() == 1 {
                child.write(member, out)?;
                continue;
            }
            let is_list = schema::form(member) == Form::List;
            if member.is_some() && !is_list {
                return Err(DUPLICATE);
            }
            out.push('[');
            for (at, item) in same.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                if is_list { item.write_items(member, out)? } else { item.write(None, out)? }
            }
            out.push(']');
        }
        out.push('}');
        Ok(())
    }
}

/// Why an argument that came twice, although its schema allows one, ends the call.
pub(super) const DUPLICATE: &str = "duplicate_argument";

/// Whether `text` is one strict JSON value that starts with `bracket`.
fn is_json(text: &str, bracket: char) -> bool {
    let text = text.trim();
    let mut tracker = crate::llm::parser::JsonTracker::default();
    tracker.push(text);
    text.starts_with(bracket) && tracker.is_whole()
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    escape_into(text, &mut |piece| out.push_str(piece));
    out.push('"');
}

/// Writes the literal that `text` spells, or `text` as a string. Blanks around a literal count only
/// where no schema asks for one.
pub(super) fn write_scalar(text: &str, schema: Option<&Value>, out: &mut String) {
    let literal = if schema.is_some() { text.trim() } else { text };
    if schema::admits_literal(schema, literal) {
        out.push_str(literal);
    } else {
        write_text(text, out);
    }
}
