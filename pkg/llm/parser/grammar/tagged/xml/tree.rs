//! Conversion of XML arguments to JSON, once their element is complete.

use std::collections::HashMap;

use super::token::{XmlToken, XmlTokens};
use crate::grammar::entity;
use crate::grammar::schema::{SchemaForm, Types, ValueSchema};
use forgeline_json::escape_into;
use forgeline_json::slice;

/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 64;

/// One element: its content, and the elements inside.
#[derive(Debug, Default)]
pub(crate) struct XmlElement {
    pub(crate) name: String,
    /// The text with entities decoded, without that of its elements.
    pub(crate) text: String,
    /// Everything between its tags, entities decoded; empty in a grammar without mixed content.
    inner: String,
    pub(crate) children: Vec<XmlElement>,
    /// `true` if the elements are the items of a list although no schema says so.
    pub(crate) is_list: bool,
}

/// Reads the content of an element.
pub(crate) fn parse_element(xml: &str) -> Result<XmlElement, &'static str> {
    let mut open = vec![XmlElement::default()];
    let mut fault = None;
    let mut tokens = XmlTokens::default();
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

fn add(open: &mut Vec<XmlElement>, token: XmlToken<'_>) -> Result<(), &'static str> {
    match token {
        XmlToken::Text(text) => add_text(open, &entity::decode(text)),
        XmlToken::Cdata(text) => add_text(open, text),
        XmlToken::Aside(_) => {}
        XmlToken::Tag { tag, .. } if tag.starts_with(['?', '!']) => {}
        XmlToken::Tag { tag, .. } => {
            if let Some(name) = tag.strip_prefix('/') {
                let element = pop(open, name.trim())?;
                add_inner(open, &format!("<{tag}>"));
                if let Some(parent) = open.last_mut() {
                    parent.children.push(element);
                }
            } else {
                add_inner(open, &format!("<{tag}>"));
                push(open, element_name(tag))?;
                if tag.ends_with('/')
                    && let Some(element) = open.pop()
                    && let Some(parent) = open.last_mut()
                {
                    parent.children.push(element);
                }
            }
        }
    }
    Ok(())
}

/// Begins an element with this name inside the innermost open one.
pub(crate) fn push(open: &mut Vec<XmlElement>, name: &str) -> Result<(), &'static str> {
    if open.len() > MAX_DEPTH {
        return Err("the XML nests deeper than 64 elements");
    }
    open.push(XmlElement { name: name.to_owned(), ..XmlElement::default() });
    Ok(())
}

/// Ends the innermost open element other than the first; it must have this name.
pub(crate) fn pop(open: &mut Vec<XmlElement>, name: &str) -> Result<XmlElement, &'static str> {
    let is_open = open.len() > 1 && open.last().is_some_and(|element| element.name == name);
    is_open.then(|| open.pop()).flatten().ok_or(NOT_OPEN)
}

fn add_text(open: &mut [XmlElement], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
    add_inner(open, text);
}

/// Adds source of mixed content to every open element; the depth is bounded.
fn add_inner(open: &mut [XmlElement], text: &str) {
    for element in open.iter_mut().skip(1) {
        element.inner.push_str(text);
    }
    if let [root] = open {
        root.inner.push_str(text);
    }
}

/// Returns the name in an opening tag.
pub(crate) fn element_name(tag: &str) -> &str {
    tag.trim_end_matches('/').split_ascii_whitespace().next().unwrap_or_default()
}

impl XmlElement {
    fn is_mixed(&self) -> bool {
        !self.children.is_empty() && !self.text.trim().is_empty()
    }

    fn is_blank(&self) -> bool {
        self.children.is_empty() && self.text.trim().is_empty()
    }

    /// Writes the content as JSON of the form required by `schema`.
    pub(crate) fn write(
        &self,
        schema: ValueSchema<'_>,
        out: &mut String,
    ) -> Result<(), &'static str> {
        let types = schema.types();
        let literal = types.literal(self.text.trim()).filter(|_| self.children.is_empty());
        match schema.form() {
            SchemaForm::List | SchemaForm::Object if let Some(json) = literal => {
                out.push_str(&json);
            }
            SchemaForm::Object if self.is_list && types.has(Types::ARRAY) => {
                return self.write_list(schema, out);
            }
            SchemaForm::Text if self.children.is_empty() => write_text(&self.text, out),
            SchemaForm::Text if self.inner.is_empty() => {
                return Err("an element stands in a string");
            }
            SchemaForm::Text => write_text(&self.inner, out),
            SchemaForm::List => return self.write_list(schema, out),
            SchemaForm::Literal if self.is_list => return self.write_list(schema, out),
            SchemaForm::Object => return self.write_object(schema, out),
            SchemaForm::Literal if self.is_mixed() => write_text(&self.inner, out),
            SchemaForm::Literal if !self.children.is_empty() => {
                return self.write_object(schema, out);
            }
            SchemaForm::Literal
                if types.has(Types::OBJECT) && is_json(&self.text, '{')
                    || types.has(Types::ARRAY) && is_json(&self.text, '[') =>
            {
                out.push_str(self.text.trim());
            }
            SchemaForm::Literal => write_scalar(&self.text, schema, out),
        }
        Ok(())
    }

    fn write_list(&self, schema: ValueSchema<'_>, out: &mut String) -> Result<(), &'static str> {
        out.push('[');
        self.write_items(schema, out)?;
        out.push(']');
        Ok(())
    }

    /// Writes the items of a list without its brackets.
    pub(crate) fn write_items(
        &self,
        schema: ValueSchema<'_>,
        out: &mut String,
    ) -> Result<(), &'static str> {
        let items = schema.items();
        let text = self.text.trim();
        if self.children.is_empty() {
            if is_json(text, '[') && (items.types() != Types::STRING || is_list_of_texts(text)) {
                let inside = slice(text, 1..text.len() - 1);
                out.push_str(inside.trim());
            } else if !text.is_empty() {
                self.write(items, out)?;
            }
            return Ok(());
        }
        // The elements inside are the items, unless the items are objects and these are their members.
        if items.form() == SchemaForm::Object
            && self.children.iter().all(|child| items.member(&child.name).is_known())
        {
            return self.write_object(items, out);
        }
        if self.is_mixed() {
            return Err(STRAY_TEXT);
        }
        for (at, child) in self.children.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            child.write(items, out)?;
        }
        Ok(())
    }

    /// Writes the elements as members; an element without any may contain the object as JSON.
    pub(crate) fn write_object(
        &self,
        schema: ValueSchema<'_>,
        out: &mut String,
    ) -> Result<(), &'static str> {
        if self.children.is_empty() && is_json(&self.text, '{') {
            out.push_str(self.text.trim());
            return Ok(());
        }
        if !self.text.trim().is_empty() {
            return Err(STRAY_TEXT);
        }
        out.push('{');
        for (at, (name, values)) in self.members().into_iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_text(name, out);
            out.push(':');
            let member = schema.member(name);
            let is_list = member.form() == SchemaForm::List;
            match values.as_slice() {
                [value] => value.write(member, out)?,
                _ if member.is_known() && !is_list => return Err(DUPLICATE),
                values => {
                    out.push('[');
                    let mut before = out.len();
                    for value in values {
                        // An element without text is not an item, unless items are strings.
                        if before < out.len() {
                            out.push(',');
                            before = out.len();
                        }
                        if is_list && value.is_blank() && member.items().form() == SchemaForm::Text
                        {
                            write_text(&value.text, out);
                        } else if is_list {
                            value.write_items(member, out)?;
                        } else {
                            value.write(member, out)?;
                        }
                    }
                    if out.ends_with(',') {
                        out.pop();
                    }
                    out.push(']');
                }
            }
        }
        out.push('}');
        Ok(())
    }

    /// Groups the elements by name, in the order in which the names first appear.
    fn members(&self) -> Vec<(&str, Vec<&Self>)> {
        let mut members: Vec<(&str, Vec<&Self>)> = Vec::new();
        let mut places = HashMap::new();
        for child in &self.children {
            let name = child.name.as_str();
            let place = *places.entry(name).or_insert(members.len());
            match members.get_mut(place) {
                Some((_, values)) => values.push(child),
                None => members.push((name, vec![child])),
            }
        }
        members
    }
}

/// The fault of a call that ends before the elements in it.
pub(crate) const NOT_CLOSED: &str = "an XML element of the call is not closed";

/// The fault of a closing tag that belongs to another element.
pub(crate) const NOT_OPEN: &str = "an XML tag closes what is not open";

/// The fault of text where only elements are allowed.
pub(crate) const STRAY_TEXT: &str = "text stands where only XML elements can";

/// The fault of an argument that was repeated although its schema allows only one.
pub(crate) const DUPLICATE: &str = "duplicate_argument";

/// Returns `true` if `text` is one strict JSON value that starts with `bracket`.
fn is_json(text: &str, bracket: char) -> bool {
    let text = text.trim();
    let mut tracker = forgeline_json::JsonTracker::default();
    tracker.push(text);
    text.starts_with(bracket) && tracker.is_whole()
}

/// Returns `true` if `text` is a JSON array of strings.
fn is_list_of_texts(text: &str) -> bool {
    serde_json::from_str::<Vec<std::borrow::Cow<'_, str>>>(text).is_ok()
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    escape_into(text, &mut |piece| out.push_str(piece));
    out.push('"');
}

/// Writes the literal that `text` spells, or `text` as a string. Whitespace around a literal matters only
/// if no schema requires one.
pub(crate) fn write_scalar(text: &str, schema: ValueSchema<'_>, out: &mut String) {
    let literal = if schema.is_known() { text.trim() } else { text };
    match schema.types().literal(literal) {
        Some(json) => out.push_str(&json),
        None => write_text(text, out),
    }
}
