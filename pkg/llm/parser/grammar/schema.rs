//! The known tools, and the part of a tool's JSON schema that describes one value.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{ReadMode, tool_name::meant};
use crate::ahead::name_check::NameCheck;
pub(crate) use forgeline_json::JsonTypes as Types;
use forgeline_json::SchemaView;
use forgeline_types::Text;

/// The names of tools and the JSON schemas of their arguments, shared by all who read calls of them.
pub type ToolSchemas = Arc<[(Text, Arc<Value>)]>;

/// The known tools, and the one named by the current call.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownTools {
    /// The names and JSON schemas; `None` if there are none, which saves the reference count.
    known: Option<ToolSchemas>,
    called: Option<usize>,
    mode: ReadMode,
}

impl From<ToolSchemas> for KnownTools {
    fn from(known: ToolSchemas) -> Self {
        Self { known: Some(known), ..Self::default() }
    }
}

impl KnownTools {
    /// Returns no tools, for readers that only need to know where calls end: they need not keep text of
    /// arguments that they cannot pass on.
    pub(crate) fn to_find_ends() -> Self {
        Self { mode: ReadMode::FindEnd, ..Self::default() }
    }

    /// Returns how much of a call is read.
    pub(crate) fn mode(&self) -> ReadMode {
        self.mode
    }

    fn known(&self) -> &[(Text, Arc<Value>)] {
        self.known.as_deref().unwrap_or_default()
    }

    /// Sets the name of the tool that is called.
    pub(crate) fn call(&mut self, name: &str) {
        let name = self.meant(name);
        self.called = name.and_then(|name| self.known().iter().position(|(it, _)| it == name));
    }

    /// Returns the known tool that `name` means.
    pub(crate) fn meant(&self, name: &str) -> Option<&str> {
        meant(name, self.known().iter().map(|(known, _)| known.as_str()))
    }

    /// Returns `true` for a name that means a known tool, or if no tools are known.
    pub(crate) fn may_be_called(&self, name: &str) -> bool {
        self.known().is_empty() || self.meant(name).is_some()
    }

    /// Returns `true` if a call with this name counts. If only the ends of calls are needed, no tools
    /// are known, and a call whose name would decide is text.
    pub(crate) fn counts(&self, name: &str, offered: NameCheck) -> bool {
        match offered {
            NameCheck::Any => true,
            NameCheck::IfKnown => self.mode != ReadMode::FindEnd && self.may_be_called(name),
            NameCheck::Always => !self.known().is_empty() && self.may_be_called(name),
        }
    }

    /// Returns the length of the name of the only tool at the beginning of `text`, the rest of which is the key of a
    /// parameter.
    pub(crate) fn split(&self, text: &str) -> Option<usize> {
        let fits = |(name, schema): &(Text, Arc<Value>)| {
            let key = text.strip_prefix(name.as_str())?.trim_start();
            let properties = ValueSchema::new(Some(schema)).properties()?;
            properties.contains_key(key).then_some(name.len())
        };
        let mut all = self.known().iter().filter_map(fits);
        all.next().filter(|_| all.next().is_none())
    }

    /// Returns the only tool that `fits`.
    pub(crate) fn only(&self, mut fits: impl FnMut(ValueSchema<'_>) -> bool) -> Option<&str> {
        let mut all =
            self.known().iter().filter(|(_, schema)| fits(ValueSchema::new(Some(schema))));
        let (name, _) = all.next()?;
        all.next().is_none().then_some(name.as_str())
    }

    /// Returns `true` if the tool that `name` means has parameters.
    pub(crate) fn takes_arguments(&self, name: &str) -> bool {
        let name = self.meant(name);
        let mut tools = self.all().filter(|(known, _)| Some(*known) == name);
        tools.any(|(_, schema)| schema.properties().is_some_and(|all| !all.is_empty()))
    }

    /// Returns the names of the tools, and the schemas of their arguments.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, ValueSchema<'_>)> {
        self.known().iter().map(|(name, schema)| (name.as_str(), ValueSchema::new(Some(schema))))
    }

    /// Returns the schema of the arguments of the tool that is called.
    pub(crate) fn schema(&self) -> ValueSchema<'_> {
        let called = self.called.and_then(|called| self.known().get(called));
        ValueSchema::new(called.map(|(_, schema)| &**schema))
    }
}

/// The form in which the text of a value is written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaForm {
    /// As a string.
    Text,
    /// As the literal it spells, if it spells one; else as a string.
    Literal,
    /// As a list.
    List,
    /// As an object.
    Object,
}

/// The maximum number of parts of a schema that are examined for one value: references, and branches of unions.
const MAX_PARTS: usize = 64;
/// The maximum number of schemas that describe one value together.
const MAX_NODES: usize = 8;

/// The parts of a tool's schema that describe one value, any of which may apply; there may be none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueSchema<'s> {
    nodes: [Option<SchemaView<'s>>; MAX_NODES],
}

impl<'s> ValueSchema<'s> {
    fn new(root: Option<&'s Value>) -> Self {
        let mut schema = Self { nodes: [None; MAX_NODES] };
        root.map(SchemaView::new).into_iter().for_each(|root| schema.add(root));
        schema
    }

    fn add(&mut self, node: SchemaView<'s>) {
        if self.nodes.iter().flatten().any(|known| known.is_same(node)) {
            return;
        }
        if let Some(place) = self.nodes.iter_mut().find(|place| place.is_none()) {
            *place = Some(node);
        }
    }

    /// Visits every part of the schema, including those that references and unions lead to.
    fn visit(self, look: &mut dyn FnMut(SchemaView<'s>)) {
        let nodes = self.nodes.into_iter().flatten();
        // Almost no schema has other parts.
        if !nodes.clone().any(SchemaView::has_other_parts) {
            return nodes.for_each(look);
        }
        let mut parts: Vec<SchemaView<'_>> = nodes.collect();
        let mut at = 0;
        while let Some(&part) = parts.get(at) {
            look(part);
            at += 1;
            for next in part.target().into_iter().chain(part.branches()).take(MAX_PARTS) {
                let is_known = parts.iter().any(|known| known.is_same(next));
                if !is_known && parts.len() < MAX_PARTS {
                    parts.push(next);
                }
            }
        }
    }

    /// Returns the schemas that `find` returns for the parts of this one.
    fn find(self, mut find: impl FnMut(SchemaView<'s>, &mut Self)) -> Self {
        let mut found = Self { nodes: [None; MAX_NODES] };
        self.visit(&mut |part| find(part, &mut found));
        found
    }

    /// Returns the schemas of the members of an object.
    pub(crate) fn properties(self) -> Option<&'s Map<String, Value>> {
        let mut properties = None;
        self.visit(&mut |part| properties = properties.or_else(|| part.properties()));
        properties
    }

    /// Returns `true` if an object that `holds` these members has all required ones.
    pub(crate) fn requires_only(self, mut holds: impl FnMut(&str) -> bool) -> bool {
        let mut has_all = true;
        self.visit(&mut |part| has_all &= part.required().all(&mut holds));
        has_all
    }

    /// Returns `true` if an object with these members has all required members and no unknown ones.
    pub(crate) fn covers(self, members: &Map<String, Value>) -> bool {
        let properties = self.properties();
        self.requires_only(|key| members.contains_key(key))
            && members.keys().all(|key| properties.is_some_and(|all| all.contains_key(key)))
    }

    /// Returns the schema of a member of an object.
    pub(crate) fn member(self, name: &str) -> Self {
        let named = self.find(|part, found| {
            let properties = part.schema("properties");
            properties.and_then(|all| all.schema(name)).into_iter().for_each(|it| found.add(it));
        });
        if named.is_known() {
            return named;
        }
        self.find(|part, found| {
            let others = part.schema("additionalProperties");
            others.filter(|it| it.node().is_object()).into_iter().for_each(|it| found.add(it));
        })
    }

    /// Returns the key of the argument that the text of a call without keys is: the only one that may be a string,
    /// or the only required one of several; `command` if the tool is not known.
    pub(crate) fn key_of_text(self) -> Option<&'s str> {
        if !self.is_known() {
            return Some("command");
        }
        let is_text = |key: &&str| self.member(key).types().has(Types::STRING);
        let all = || self.properties().into_iter().flatten().map(|(key, _)| key.as_str());
        let is_required = |key: &&str| !self.requires_only(|other| other != *key);
        let only =
            |keys: &mut dyn Iterator<Item = &'s str>| keys.next().filter(|_| keys.next().is_none());
        let mut required = all().filter(is_text).filter(is_required);
        only(&mut all().filter(is_text)).or_else(|| only(&mut required))
    }

    /// Returns the schema of the items of a list.
    pub(crate) fn items(self) -> Self {
        self.find(|part, found| {
            for items in ["items", "prefixItems"].into_iter().filter_map(|key| part.schema(key)) {
                if let Value::Array(each) = items.node() {
                    for it in each {
                        found.add(items.at(it));
                    }
                } else {
                    found.add(items);
                }
            }
        })
    }

    /// Returns `true` if the schema contains any information.
    pub(crate) fn is_known(self) -> bool {
        self.nodes.iter().any(Option::is_some)
    }

    /// Returns the required form; without a schema, literals are typed and everything else is
    /// text. A value that may be a string is one, unless it spells a value of another type that is
    /// also allowed.
    pub(crate) fn form(self) -> SchemaForm {
        let types = self.types();
        if types == Types::STRING {
            SchemaForm::Text
        } else if types.has(Types::STRING) {
            SchemaForm::Literal
        } else if types.has(Types::OBJECT) {
            SchemaForm::Object
        } else if types.has(Types::ARRAY) {
            SchemaForm::List
        } else {
            SchemaForm::Literal
        }
    }

    /// Returns the JSON types that are allowed.
    pub(crate) fn types(self) -> Types {
        let mut budget = MAX_PARTS;
        Types::any_of(self.nodes.into_iter().flatten().map(|node| node.types(&mut budget)))
    }
}

/// Returns `true` if `text` may still become a literal when more text follows.
pub(crate) fn may_be_literal(text: &str) -> bool {
    ["true", "false", "null"].iter().any(|word| word.starts_with(text))
        || text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
}
