//! One value of a partial JSON text.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::tree::{Node, Tree};
use crate::Json;

/// A value inside a [`PartialJson`](super::PartialJson), as far as it has arrived. It borrows the text, and is
/// cheap to copy.
///
/// The value serializes as JSON with the spelling of numbers kept; [`read`](Self::read) deserializes it as a type.
///
/// # Examples
///
/// ```
/// use forgeline_json::PartialJson;
///
/// let mut json = PartialJson::new();
/// json.push(r#"{"files": ["a.rs", "b."#)?;
/// let files = json.value().unwrap().get("files").unwrap();
/// let names: Vec<_> = files.items().filter_map(|file| file.as_str()).collect();
/// assert_eq!(names, ["a.rs", "b."]);
/// assert_eq!(files.to_string(), r#"["a.rs","b."]"#);
/// # Ok::<(), forgeline_json::PartialJsonError>(())
/// ```
#[derive(Clone, Copy)]
pub struct PartialValue<'a> {
    pub(super) tree: &'a Tree,
    at: usize,
    pub(super) node: &'a Node,
}

impl<'a> PartialValue<'a> {
    pub(super) fn root(tree: &'a Tree) -> Option<Self> {
        Self::at(tree, 0)
    }

    fn at(tree: &'a Tree, at: usize) -> Option<Self> {
        tree.node(at).map(|node| Self { tree, at, node })
    }

    /// Returns the string, as far as it has arrived; `None` for other values.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        if let Node::String(text) = self.node { Some(text) } else { None }
    }

    /// Returns the number as spelled; `None` for other values.
    #[must_use]
    pub fn as_number(self) -> Option<&'a str> {
        if let Node::Number(text) = self.node { Some(text) } else { None }
    }

    /// Returns the boolean; `None` for other values.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        if let Node::Bool(value) = self.node { Some(*value) } else { None }
    }

    /// Returns `true` for `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.node, Node::Null)
    }

    /// Returns `true` for an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        matches!(self.node, Node::Array(_))
    }

    /// Returns `true` for an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        matches!(self.node, Node::Object(_))
    }

    /// Returns `true` if more of the value may arrive.
    #[must_use]
    pub fn is_open(self) -> bool {
        self.tree.is_open(self.at)
    }

    /// Returns the member of an object with this key.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        let Node::Object(members) = self.node else { return None };
        Self::at(self.tree, *members.get(key)?)
    }

    /// Returns the item of an array at this index.
    #[must_use]
    pub fn item(self, index: usize) -> Option<Self> {
        let Node::Array(items) = self.node else { return None };
        Self::at(self.tree, *items.get(index)?)
    }

    /// Iterates over the items of an array; other values have none.
    pub fn items(self) -> impl Iterator<Item = Self> + use<'a> {
        let items = if let Node::Array(items) = self.node { items.as_slice() } else { &[] };
        items.iter().filter_map(move |&at| Self::at(self.tree, at))
    }

    /// Iterates over the members of an object, in the order in which their keys first appeared; other values
    /// have none.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let members = if let Node::Object(members) = self.node { Some(members) } else { None };
        let members = members.into_iter().flat_map(|members| members.iter());
        members.filter_map(move |(key, &at)| Some((key.as_str(), Self::at(self.tree, at)?)))
    }

    /// Returns the value at a JSON pointer (RFC 6901) relative to this one, such as `/files/0/path`.
    #[must_use]
    pub fn pointer(self, pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, word| {
            let word = word.replace("~1", "/").replace("~0", "~");
            if !value.is_array() {
                return value.get(&word);
            }
            let is_index = word == "0" || !word.starts_with(['0', '+']);
            value.item(word.parse().ok().filter(|_| is_index)?)
        })
    }

    /// Deserializes the value as a `T`, whose fields should be optional. Only data owned by `T` is copied: a `&str` field
    /// borrows the string so far.
    ///
    /// # Errors
    ///
    /// Returns an error if the value so far is not a `T`.
    pub fn read<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        T::deserialize(self)
    }

    /// Returns a copy as text, with numbers as spelled.
    #[must_use]
    pub fn to_json(self) -> Json {
        serde_json::value::to_raw_value(&self)
            .ok()
            .and_then(|raw| Json::parse(raw.get()).ok())
            .unwrap_or_default()
    }

    /// Returns a copy as a [`Value`]; numbers that fit no machine type are rounded, or are `null` if they
    /// are too large.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.node {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(*value),
            Node::Number(text) => serde_json::from_str(text).map_or(Value::Null, Value::Number),
            Node::String(text) => Value::String(text.clone()),
            Node::Array(_) => self.items().map(Self::to_value).collect(),
            Node::Object(_) => {
                let member = |(key, value): (&str, Self)| (key.to_owned(), value.to_value());
                Value::Object(self.members().map(member).collect::<Map<_, _>>())
            }
        }
    }
}

impl fmt::Display for PartialValue<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
}

impl fmt::Debug for PartialValue<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
