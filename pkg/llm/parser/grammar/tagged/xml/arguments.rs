//! The arguments element: XML in, JSON out, as early as the types are known.

use compact_str::CompactString;

use super::{
    token::XmlToken,
    tree::{self, element_name},
};
use crate::grammar::{
    ReadMode,
    arguments::{ArgumentsWriter, JsonOut},
    entity::EntityDecoder,
    reader::PlainText,
    schema::{KnownTools, SchemaForm, Types, may_be_literal},
    tagged::misfit::write_string,
};
use forgeline_json::{Repair, RepairSet, escape_into, slice};

/// Maximum length of a value that is withheld because it may still be a literal, in bytes.
const MAX_LITERAL_BYTES: usize = 64;

/// A writer of the JSON of the arguments as their XML arrives.
///
/// With a schema, each value is written as it arrives; only objects, and lists inside one element, are held
/// until their end. Without a schema, an element may be repeated later, so all are held until the last tag.
#[derive(Debug, Default)]
pub(super) struct XmlArguments {
    tools: KnownTools,
    state: ValuePhase,
    /// The current element, or the last one.
    name: CompactString,
    /// The number of elements with the same name that began inside it, and may have ends of their own.
    depth: usize,
    /// `true` inside a call that is part of a value: no tag counts.
    pub(super) is_data: bool,
    entities: EntityDecoder,
    writer: ArgumentsWriter,
    /// The number of items in the last member, if it is a list that is still open.
    open_list: Option<usize>,
    /// The first item of the list if it has no text; it counts as one if another follows.
    blank_item: Option<String>,
    /// Source that is held; bounded by the limit of a call's body.
    held: String,
    pub(super) repairs: RepairSet,
    fault: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ValuePhase {
    /// Not needed, because only the end of the call is.
    #[default]
    Dropped,
    /// No schema, or the arguments are JSON: everything is held.
    Whole,
    /// Between two arguments.
    Between,
    /// In an item of a list that may be a string; only whitespace so far, in `held`.
    ItemHead,
    /// In a string; only whitespace so far, in `held`.
    TextHead,
    /// In a value that may be an object or a string; only whitespace so far, in `held`.
    UnionHead,
    /// In a value that may be a literal, in `held`.
    Literal,
    /// In a string.
    Text,
    /// In a value that is held until its end, at this nesting of elements.
    Waiting(usize),
}

impl XmlArguments {
    /// Creates the writer of the arguments of the tool that is called according to `tools`.
    pub(super) fn new(tools: KnownTools) -> Self {
        let state = match tools.schema().is_known() {
            _ if tools.mode() == ReadMode::FindEnd => ValuePhase::Dropped,
            true => ValuePhase::Between,
            false => ValuePhase::Whole,
        };
        Self { tools, state, ..Self::default() }
    }

    /// Returns `true` if the closing tag of the arguments may follow.
    pub(super) fn may_end(&self) -> bool {
        let is_between =
            matches!(self.state, ValuePhase::Dropped | ValuePhase::Whole | ValuePhase::Between);
        is_between && !self.is_data
    }

    /// Returns the name of the innermost element that must be closed next: a value, or the arguments.
    pub(super) fn open_element(&self) -> &str {
        let is_between = self.state == ValuePhase::Between || self.name.is_empty();
        if is_between { "arguments" } else { &self.name }
    }

    /// Counts a tag of arguments that are held or dropped.
    fn count(&mut self, token: XmlToken<'_>) {
        let XmlToken::Tag { tag, .. } = token else { return };
        let opens = !tag.starts_with(['/', '?', '!']) && !tag.ends_with('/') && !self.is_data;
        if self.is_closer(token) {
            match self.depth.checked_sub(1) {
                Some(depth) => self.depth = depth,
                None => self.name.clear(),
            }
        } else if opens && self.name.is_empty() {
            self.name = CompactString::from(element_name(tag));
        } else if opens && self.name == element_name(tag) {
            self.depth += 1;
        }
    }

    /// Returns which text without markup passes unchanged.
    pub(super) fn plain(&self) -> PlainText {
        match self.state {
            ValuePhase::Dropped => PlainText::MarkupRules,
            ValuePhase::Text if self.entities.is_idle() => PlainText::Entities,
            ValuePhase::Text => PlainText::MarkupTail,
            ValuePhase::Whole
            | ValuePhase::Between
            | ValuePhase::ItemHead
            | ValuePhase::TextHead
            | ValuePhase::UnionHead
            | ValuePhase::Literal
            | ValuePhase::Waiting(_) => PlainText::Nothing,
        }
    }

    /// Processes text without markup, where it is plain; returns which of the following text passes unchanged.
    pub(super) fn pass_text(&mut self, text: &str, mut out: &mut dyn FnMut(&str)) -> PlainText {
        if self.state == ValuePhase::Text {
            if self.entities.is_idle() {
                self.entities.feed_json(text, &mut out);
            } else {
                self.entities.feed(text, &mut |text| escape_into(text, &mut out));
            }
        }
        self.plain()
    }

    /// Ends the arguments.
    pub(super) fn finish(&mut self, out: &mut impl JsonOut) -> Result<(), &'static str> {
        if let Some(reason) = self.fault {
            return Err(reason);
        }
        if self.state == ValuePhase::Whole {
            let mut json = String::new();
            tree::parse_element(&self.held)?.write_object(self.tools.schema(), &mut json)?;
            out(&json);
        } else if self.state == ValuePhase::Between {
            if self.open_list.is_some() {
                out("]");
            }
            self.writer.finish(out);
        }
        Ok(())
    }

    pub(super) fn token(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        match self.state {
            ValuePhase::Dropped => self.count(token),
            ValuePhase::Whole => {
                self.count(token);
                self.hold(token);
            }
            ValuePhase::Between => self.between(token, out),
            ValuePhase::ItemHead => self.item_head(token, out),
            ValuePhase::TextHead => self.text_head(token, out),
            ValuePhase::UnionHead => self.union_head(token, out),
            ValuePhase::Literal => self.literal(token, out),
            ValuePhase::Text => self.text(token, out),
            ValuePhase::Waiting(depth) => self.waiting(depth, token, out),
        }
    }

    fn hold(&mut self, token: XmlToken<'_>) {
        match token {
            XmlToken::Text(text) | XmlToken::Cdata(text) | XmlToken::Aside(text) => {
                self.held.push_str(text);
            }
            XmlToken::Tag { tag, .. } => {
                self.held.push('<');
                self.held.push_str(tag);
                self.held.push('>');
            }
        }
    }

    fn between(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        let tag = match token {
            XmlToken::Tag { tag, .. } => tag,
            XmlToken::Text(text) | XmlToken::Cdata(text) if !text.trim().is_empty() => {
                return self.stray_text(text, token);
            }
            XmlToken::Text(_) | XmlToken::Cdata(_) | XmlToken::Aside(_) => return,
        };
        if tag.starts_with('/') {
            let is_repeated = self.is_closer(token) && self.depth == 0;
            if is_repeated {
                self.repairs.insert(Repair::DuplicateTag);
            } else {
                self.fault.get_or_insert(tree::NOT_OPEN);
            }
            return;
        }
        if self.is_repeated_start(tag) {
            self.repairs.insert(Repair::DuplicateTag);
            return;
        }
        self.begin(element_name(tag), out);
        if tag.ends_with('/') {
            self.close(out);
        }
    }

    /// Returns `true` for the tag of the arguments themselves, written once more.
    fn is_repeated_start(&self, tag: &str) -> bool {
        let is_first = self.writer.is_empty() && self.name.is_empty();
        is_first && tag == "arguments" && !self.tools.schema().member(tag).is_known()
    }

    /// Processes text between the arguments: all of them as one JSON object, or a mistake.
    fn stray_text(&mut self, text: &str, token: XmlToken<'_>) {
        if self.writer.is_empty() && text.trim_start().starts_with('{') {
            self.state = ValuePhase::Whole;
            self.name.clear();
            self.held.clear();
            self.hold(token);
        } else {
            self.fault.get_or_insert(tree::STRAY_TEXT);
        }
    }

    /// Begins an argument: writes its key, and the part of its form that is certain.
    fn begin(&mut self, name: &str, out: &mut impl JsonOut) {
        let tools = self.tools.clone();
        let member = tools.schema().member(name);
        let form = member.form();
        self.held.clear();
        let blank_item = self.blank_item.take();
        if self.open_list.is_some() && self.name == name {
            if let Some(text) = blank_item {
                self.item(&text, out);
            }
        } else {
            if self.open_list.take().is_some() {
                out("]");
            }
            if !self.writer.begin(name, out) {
                self.fault.get_or_insert(tree::DUPLICATE);
            }
            self.name = CompactString::from(name);
            self.depth = 0;
            if form == SchemaForm::List {
                self.open_list = Some(0);
                out("[");
            }
        }
        self.state = match form {
            SchemaForm::Text => ValuePhase::TextHead,
            SchemaForm::Literal if member.types().has(Types::OBJECT) => ValuePhase::UnionHead,
            SchemaForm::Literal => ValuePhase::Literal,
            SchemaForm::List if member.items().form() == SchemaForm::Text => ValuePhase::ItemHead,
            SchemaForm::List | SchemaForm::Object => ValuePhase::Waiting(0),
        };
    }

    fn is_closer(&self, token: XmlToken<'_>) -> bool {
        matches!(token, XmlToken::Tag { tag, .. }
            if !self.is_data && tag.strip_prefix('/').is_some_and(|name| name.trim_end() == self.name))
    }

    /// Decides by the first text of an item whether it is a string.
    fn item_head(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        if self.is_closer(token) {
            return self.close(out);
        }
        match token {
            XmlToken::Text(text) if text.trim_start().is_empty() => self.held.push_str(text),
            XmlToken::Text(text) if !text.trim_start().starts_with('[') => self.string(token, out),
            XmlToken::Cdata(_) => self.string(token, out),
            XmlToken::Aside(_) => {}
            XmlToken::Text(_) | XmlToken::Tag { .. } => {
                self.state = ValuePhase::Waiting(0);
                self.waiting(0, token, out);
            }
        }
    }

    /// Begins a string at its first text. The element's own tag, written once more, is dropped.
    fn text_head(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        match token {
            XmlToken::Aside(_) => {}
            XmlToken::Text(text) if text.trim_start().is_empty() => self.held.push_str(text),
            XmlToken::Tag { tag, .. } if self.is_opener(tag) => self.drop_opener(),
            XmlToken::Text(_) | XmlToken::Cdata(_) | XmlToken::Tag { .. } => {
                self.string(token, out);
            }
        }
    }

    /// Returns `true` for the tag of the current element, written once more.
    fn is_opener(&self, tag: &str) -> bool {
        !tag.ends_with('/') && element_name(tag) == self.name && self.depth == 0
    }

    fn drop_opener(&mut self) {
        self.repairs.insert(Repair::DuplicateTag);
        self.depth = 1;
        self.held.clear();
    }

    /// Decides by the first text or tag of a value whether it is held until its end.
    fn union_head(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        match token {
            XmlToken::Aside(_) => {}
            XmlToken::Text(text) if text.trim_start().is_empty() => self.held.push_str(text),
            XmlToken::Text(text) if !text.trim_start().starts_with(['{', '[']) => {
                self.state = ValuePhase::Literal;
                let held = std::mem::take(&mut self.held);
                self.literal(XmlToken::Text(&held), out);
                self.token(token, out);
            }
            XmlToken::Tag { .. } if self.is_closer(token) => self.close(out),
            XmlToken::Text(_) | XmlToken::Tag { .. } => {
                self.state = ValuePhase::Waiting(0);
                self.waiting(0, token, out);
            }
            XmlToken::Cdata(_) => self.string(token, out),
        }
    }

    /// Emits an item that is a string.
    fn item(&mut self, text: &str, out: &mut impl JsonOut) {
        self.separate(out);
        write_string(text, out);
    }

    /// Separates an item of an open list from the previous one.
    fn separate(&mut self, out: &mut impl JsonOut) {
        if let Some(items) = &mut self.open_list {
            if *items > 0 {
                out(",");
            }
            *items += 1;
        }
    }

    /// Begins a string with the held text, and continues with `token`.
    fn string(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        self.separate(out);
        out("\"");
        escape_into(&self.held, out);
        self.held.clear();
        self.state = ValuePhase::Text;
        self.text(token, out);
    }

    fn literal(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        if self.is_closer(token) {
            return self.close(out);
        }
        match token {
            XmlToken::Text(text) => {
                for (at, character) in text.char_indices() {
                    self.held.push(character);
                    let is_open =
                        self.held.len() <= MAX_LITERAL_BYTES && may_be_literal(self.held.trim());
                    if !is_open {
                        self.held.pop();
                        let rest = slice(text, at..);
                        return self.string(XmlToken::Text(rest), out);
                    }
                }
            }
            XmlToken::Tag { tag, .. } if self.is_opener(tag) && self.held.trim().is_empty() => {
                self.drop_opener();
            }
            XmlToken::Cdata(_) | XmlToken::Tag { .. } => self.string(token, out),
            XmlToken::Aside(_) => {}
        }
    }

    fn text(&mut self, token: XmlToken<'_>, out: &mut impl JsonOut) {
        if self.is_closer(token) {
            return self.close(out);
        }
        match token {
            XmlToken::Text(text) => self.entities.feed(text, &mut |text| escape_into(text, out)),
            XmlToken::Cdata(text) => {
                self.entities.finish(&mut |text| escape_into(text, out));
                escape_into(text, out);
            }
            XmlToken::Tag { tag, .. } => {
                self.entities.finish(&mut |text| escape_into(text, out));
                out("<");
                escape_into(tag, out);
                out(">");
            }
            XmlToken::Aside(_) => {}
        }
    }

    fn waiting(&mut self, depth: usize, token: XmlToken<'_>, out: &mut impl JsonOut) {
        let is_own = self.is_closer(token);
        if is_own && depth == 0 {
            return self.close(out);
        }
        self.hold(token);
        let XmlToken::Tag { tag, .. } = token else { return };
        let is_same = element_name(tag) == self.name && !tag.ends_with('/') && !self.is_data;
        self.state = ValuePhase::Waiting(depth + usize::from(is_same) - usize::from(is_own));
    }

    /// Ends the current argument.
    fn close(&mut self, out: &mut impl JsonOut) {
        let member = || self.tools.schema().member(&self.name);
        let mut json = String::new();
        let written = match self.state {
            ValuePhase::Text => {
                self.entities.finish(&mut |text| escape_into(text, out));
                out("\"");
                Ok(())
            }
            ValuePhase::Literal | ValuePhase::UnionHead => {
                tree::write_scalar(&self.held, member(), &mut json);
                Ok(())
            }
            ValuePhase::Waiting(_) => {
                tree::parse_element(&self.held).and_then(|element| match self.open_list {
                    Some(_) => element.write_items(member(), &mut json),
                    None => element.write(member(), &mut json),
                })
            }
            // A single element without text is not an item.
            ValuePhase::ItemHead if self.open_list == Some(0) && self.blank_item.is_none() => {
                self.blank_item = Some(std::mem::take(&mut self.held));
                Ok(())
            }
            ValuePhase::ItemHead => {
                let held = std::mem::take(&mut self.held);
                self.item(&held, out);
                Ok(())
            }
            ValuePhase::Dropped
            | ValuePhase::Whole
            | ValuePhase::Between
            | ValuePhase::TextHead => Ok(()),
        };
        if let Err(reason) = written {
            self.fault.get_or_insert(reason);
        }
        if !json.is_empty() {
            self.separate(out);
            out(&json);
        }
        self.held.clear();
        self.state = ValuePhase::Between;
    }
}
