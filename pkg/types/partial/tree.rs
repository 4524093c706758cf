//! The values of a growing JSON text, in one list.
//!
//! Containers name their children by place, so that the open string is reached in one step however
//! deep it stands, and nothing recurses, not even dropping.

use indexmap::IndexMap;

use crate::types::Text;

#[derive(Debug, Clone)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// As it was spelled.
    Number(Text),
    String(String),
    Array(Vec<usize>),
    Object(Box<IndexMap<String, usize>>),
}

/// Every value so far; the first is the root. Its size is bounded by that of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The open arrays and objects, outermost first.
    open: Vec<usize>,
    /// The string that more text may follow in.
    string: Option<usize>,
}

/// Whether an array, an object or nothing is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Nothing,
    Array,
    Object,
}

impl Tree {
    pub(super) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Adds a value to what is open: under `key` to an object. The last of equal keys counts.
    pub(super) fn add(&mut self, key: &mut String, node: Node) {
        let at = self.nodes.len();
        match self.open.last().and_then(|&parent| self.nodes.get_mut(parent)) {
            Some(Node::Array(items)) => items.push(at),
            Some(Node::Object(members)) => drop(members.insert(std::mem::take(key), at)),
            Some(Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_)) | None => {}
        }
        match node {
            Node::Array(_) | Node::Object(_) => self.open.push(at),
            Node::String(_) => self.string = Some(at),
            Node::Null | Node::Bool(_) | Node::Number(_) => {}
        }
        self.nodes.push(node);
    }

    /// The string that grows.
    pub(super) fn string(&mut self) -> Option<&mut String> {
        match self.nodes.get_mut(self.string?) {
            Some(Node::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn end_string(&mut self) {
        self.string = None;
    }

    /// Ends the innermost array or object.
    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    pub(super) fn inside(&self) -> Inside {
        match self.open.last().and_then(|&at| self.nodes.get(at)) {
            Some(Node::Array(_)) => Inside::Array,
            Some(Node::Object(_)) => Inside::Object,
            _ => Inside::Nothing,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether the value at this place may still grow.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.string == Some(at) || self.open.contains(&at)
    }
}
