//! The values of a partial JSON text, in one list.
//!
//! Containers refer to their children by index, so the open string is reached in one step at any
//! depth, and nothing recurses, not even dropping.

use std::mem;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::{Kind, Token, Unescape};

#[derive(Debug, Clone)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// A number as spelled.
    Number(CompactString),
    String(String),
    Array(Vec<usize>),
    Object(Box<IndexMap<String, usize>>),
}

/// All values so far; the first is the root. The size is bounded by that of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The open arrays and objects, outermost first.
    open: Vec<usize>,
    /// The key that has been or is being read.
    key: String,
    /// The number that is being read.
    number: CompactString,
    unescape: Unescape,
    target: Target,
    keeps_spelling: bool,
}

/// The value that receives the next text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Target {
    #[default]
    Structure,
    Key,
    /// The string at this index.
    String(usize),
    Number,
    Word,
}

impl Tree {
    pub(super) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Returns `true` if the value at this index may still grow.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.target == Target::String(at) || self.open.contains(&at)
    }

    /// Reads numbers with an unusual spelling as objects that keep it: [`Json`](crate::Json) converts them back.
    pub(super) fn keep_spelling(&mut self) {
        self.keeps_spelling = true;
    }

    pub(super) fn keeps_spelling(&self) -> bool {
        self.keeps_spelling
    }

    /// Processes the next token.
    pub(super) fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Text(json) => self.text(json),
            Token::KeyStart { .. } => {
                self.key.clear();
                self.target = Target::Key;
            }
            Token::KeyEnd { .. } => self.target = Target::Structure,
            Token::ValueStart { kind, .. } => self.begin(kind),
            Token::ValueEnd { .. } => self.end(),
            Token::Next { .. } => {}
        }
    }

    fn text(&mut self, json: &str) {
        match self.target {
            Target::Key => self.unescape.feed(json, &mut |text| self.key.push_str(text)),
            Target::String(at) => {
                if let Some(Node::String(string)) = self.nodes.get_mut(at) {
                    self.unescape.feed(json, &mut |text| string.push_str(text));
                }
            }
            Target::Number => self.number.push_str(json),
            Target::Word => self.add(match json {
                "true" => Node::Bool(true),
                "false" => Node::Bool(false),
                _ => Node::Null,
            }),
            Target::Structure => {}
        }
    }

    fn begin(&mut self, kind: Kind) {
        let at = self.nodes.len();
        self.target = match kind {
            Kind::String => Target::String(at),
            Kind::Number => Target::Number,
            Kind::Word => Target::Word,
            Kind::Array | Kind::Object => Target::Structure,
        };
        match kind {
            Kind::String => self.add(Node::String(String::new())),
            Kind::Array => self.add(Node::Array(Vec::new())),
            Kind::Object => self.add(Node::Object(Box::default())),
            Kind::Number | Kind::Word => return,
        }
        if self.target == Target::Structure {
            self.open.push(at);
        }
    }

    fn end(&mut self) {
        match mem::take(&mut self.target) {
            Target::Structure => drop(self.open.pop()),
            Target::Number => {
                let number = mem::take(&mut self.number);
                self.add(Node::Number(number));
            }
            Target::String(_) | Target::Word | Target::Key => {}
        }
    }

    /// Adds a value to the innermost open container; for an object, under the current key. The last of several equal keys
    /// counts.
    fn add(&mut self, node: Node) {
        let at = self.nodes.len();
        match self.open.last().and_then(|&parent| self.nodes.get_mut(parent)) {
            Some(Node::Array(items)) => items.push(at),
            Some(Node::Object(members)) => drop(members.insert(mem::take(&mut self.key), at)),
            Some(Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_)) | None => {}
        }
        self.nodes.push(node);
    }
}
