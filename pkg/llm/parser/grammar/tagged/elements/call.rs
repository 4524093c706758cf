//! Calls whose arguments are elements: `<invoke name="f"><key>value</key></invoke>`, with a marker
//! before every tag, so that nothing in a value needs to be escaped.

use std::{mem, sync::LazyLock};

use compact_str::CompactString;

use crate::grammar::tagged::{
    arguments::TagArguments,
    tag::TagAttributes,
    want::WrittenForm,
    xml::tree::{self, NOT_CLOSED, NOT_OPEN, STRAY_TEXT, XmlElement},
};
use crate::{
    ahead::found::TextAhead,
    grammar::{
        reader::{
            NO_NAME, PayloadFault, PayloadOut, PayloadReader, PayloadSink, PlainText, is_blank,
            json_to,
        },
        schema::{KnownTools, ValueSchema},
    },
    marker::{Marker, MarkerSet},
    scan::{
        search::{MarkerScan, MarkerSearch, NoTrack},
        stop_bytes::StopBytes,
    },
};
use forgeline_json::RepairSet;
use forgeline_types::Repair;

/// The text before every tag.
pub(crate) const MARK: &str = "]<]minimax[>[";
/// The element of a call, and the element around all calls.
const CALL: &str = "invoke";
const SECTION: &str = "tool_call";
/// The element of each item of a list.
const ITEM: &str = "item";

/// Maximum length of the whitespace withheld before elements or text, in bytes.
const MAX_WHITESPACE: usize = 64;

static TAGS: LazyLock<(MarkerSet, StopBytes)> = LazyLock::new(|| {
    let tags = MarkerSet::new(vec![Marker::before_tag(MARK)]);
    let stops = StopBytes::new([&tags]);
    (tags, stops)
});

/// The part that was read last, which determines what may follow.
#[derive(Debug, Default)]
enum ElementPhase {
    /// Nothing: the call's own tag must follow.
    #[default]
    Start,
    /// That tag, or a complete argument: another one, or the end of the call, follows.
    Between,
    /// The tag of an argument, and whitespace, which is held. By its schema the argument is a list or object, or
    /// anything.
    Head { is_nested: bool },
    /// Text of an argument.
    Text,
    /// Elements of an argument: the open ones, starting with the argument.
    Nested(Vec<XmlElement>),
    /// A mistake: the end of the call follows.
    Lost,
    /// The end of the call.
    Ended,
}

/// A reader of one call, in pieces of any size; it ends after the call's last tag.
///
/// An argument that is text streams, with or without a schema. One that contains elements is held until its end:
/// an element that appears twice makes a list of both.
#[derive(Debug)]
pub(crate) struct ElementsCall {
    scan: MarkerScan,
    body: ElementBody,
}

#[derive(Debug, Default)]
struct ElementBody {
    state: ElementPhase,
    tools: KnownTools,
    /// The current argument.
    key: CompactString,
    /// The whitespace at its start; at most [`MAX_WHITESPACE`] bytes.
    whitespace: CompactString,
    arguments: TagArguments,
    /// The tag that ends a text argument, and whitespace after it: the tag counts only if no text
    /// follows.
    end_tag: Option<CompactString>,
    /// The position of such a tag that was text: the argument must then have an end of its own.
    inner_end: Option<usize>,
    repairs: RepairSet,
    fault: Option<PayloadFault>,
    /// The number of bytes before the current text or tag.
    taken: usize,
}

impl ElementsCall {
    pub(crate) fn new(tools: KnownTools) -> Self {
        Self { scan: MarkerScan::new(), body: ElementBody { tools, ..ElementBody::default() } }
    }
}

impl PayloadReader for ElementsCall {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        let Self { scan, body } = self;
        let (tags, stops) = &*TAGS;
        let search = MarkerSearch {
            stops,
            check: |bytes: &[u8], is_last| {
                tags.check_below(usize::MAX, bytes, TextAhead::at_end(is_last))
            },
            counts: true,
        };
        let mut at = 0;
        while at < text.len() && !matches!(body.state, ElementPhase::Ended) {
            let passed = &mut |text: &str| body.text(text, out);
            if scan.next(text, &mut at, &search, &mut NoTrack, passed).is_some() {
                body.tag(scan.found(), at, out);
            }
        }
        at
    }

    fn plain(&self) -> PlainText {
        let is_in_text =
            matches!(self.body.state, ElementPhase::Text) && self.body.end_tag.is_none();
        let is_text = is_in_text && self.scan.is_idle();
        let is_raw = is_text && self.body.arguments.plain() == PlainText::MarkupRules;
        if is_raw { PlainText::InBrackets } else { PlainText::Nothing }
    }

    fn skip(&mut self, bytes: usize) {
        self.body.taken += bytes;
    }

    /// Returns `true` if the call ended itself, even after a mistake.
    fn is_whole(&self) -> bool {
        matches!(self.body.state, ElementPhase::Ended)
    }

    fn repairs(&self) -> RepairSet {
        self.body.repairs
    }

    fn close(&mut self, _out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        match (self.body.fault, self.is_whole()) {
            (Some(fault), _) => Err(fault),
            (None, true) => Ok(()),
            (None, false) => Err((NOT_CLOSED, self.body.taken)),
        }
    }
}

impl ElementBody {
    /// Processes text between two tags, or part of it.
    fn text(&mut self, text: &str, out: &mut PayloadSink<'_>) {
        let start = text.len() - text.trim_start_matches(is_blank).len();
        let is_blank = start == text.len();
        if let Some(mut end_tag) = self.end_tag.take() {
            let is_short = end_tag.len() + start <= MAX_WHITESPACE;
            if is_blank && is_short {
                end_tag.push_str(text);
                self.end_tag = Some(end_tag);
                out(PayloadOut::Source(text));
                self.taken += text.len();
                return;
            }
            if is_short {
                self.inner_end.get_or_insert(self.taken + start);
                self.value(&end_tag, out);
            } else {
                self.inner_end = None;
                self.end_argument(out);
            }
        }
        match &mut self.state {
            ElementPhase::Between if !is_blank => self.fail(STRAY_TEXT, self.taken + start),
            ElementPhase::Head { .. }
                if is_blank && self.whitespace.len() + text.len() <= MAX_WHITESPACE =>
            {
                self.whitespace.push_str(text);
            }
            ElementPhase::Head { .. } => {
                self.begin_text(out);
                self.state = ElementPhase::Text;
                self.value(text, out);
            }
            ElementPhase::Text => self.value(text, out),
            ElementPhase::Nested(open) => {
                if let Some(element) = open.last_mut() {
                    if element.children.is_empty() {
                        element.text.push_str(text);
                    } else if !is_blank {
                        self.fail(STRAY_TEXT, self.taken + start);
                    }
                }
            }
            ElementPhase::Start => {
                self.fail("the payload begins with no function", self.taken + start);
            }
            ElementPhase::Between | ElementPhase::Lost | ElementPhase::Ended => {}
        }
        out(PayloadOut::Source(text));
        self.taken += text.len();
    }

    fn value(&mut self, text: &str, out: &mut PayloadSink<'_>) {
        self.arguments.text(text, self.taken, &mut json_to(out));
    }

    /// Begins the text of the argument with the held whitespace.
    fn begin_text(&mut self, out: &mut PayloadSink<'_>) {
        let whitespace = mem::take(&mut self.whitespace);
        let place = self.taken - whitespace.len();
        if !whitespace.is_empty() {
            self.arguments.text(&whitespace, place, &mut json_to(out));
        }
    }

    /// Processes a tag with its mark, which ends before byte `at` of the current piece.
    fn tag(&mut self, tag: &str, at: usize, out: &mut PayloadSink<'_>) {
        let inside = tag.strip_prefix(MARK).unwrap_or(tag).trim_ascii_start();
        let inside = inside.strip_prefix('<').and_then(|inside| inside.strip_suffix('>'));
        let inside = inside.unwrap_or_default().trim_ascii_end();
        if matches!(self.state, ElementPhase::Start) {
            self.begin_call(inside, at, out);
        } else {
            if self.end_tag.take().is_some() {
                self.inner_end = None;
                self.end_argument(out);
            }
            if let Some(name) = inside.strip_prefix('/') {
                if matches!(self.state, ElementPhase::Text) && name == self.key {
                    self.end_tag = Some(tag.into());
                } else {
                    self.end_element(name, out);
                }
            } else {
                self.begin_element(inside, at, out);
            }
            if !matches!(self.state, ElementPhase::Ended) {
                out(PayloadOut::Source(tag));
            }
        }
        self.taken += tag.len();
    }

    fn begin_call(&mut self, tag: &str, at: usize, out: &mut PayloadSink<'_>) {
        let TagAttributes { name, .. } =
            TagAttributes::parse(tag.strip_prefix(CALL).unwrap_or_default());
        if name.is_empty() {
            return self.fail(NO_NAME, self.taken);
        }
        out(PayloadOut::Name { name: &name, at });
        self.tools.call(&name);
        self.state = ElementPhase::Between;
    }

    /// Ends a call that was not closed, and begins another one with `tag`.
    fn next_call(&mut self, tag: &str, at: usize, out: &mut PayloadSink<'_>) {
        let fault = self.fault.take().or(Some((NOT_CLOSED, self.taken)));
        out(PayloadOut::NextCall { at, repairs: mem::take(&mut self.repairs), fault });
        let (tools, taken) = (mem::take(&mut self.tools), self.taken);
        *self = Self { tools, taken, ..Self::default() };
        self.begin_call(tag, at, out);
    }

    fn begin_element(&mut self, name: &str, at: usize, out: &mut PayloadSink<'_>) {
        let is_call = name.strip_prefix(CALL).is_some_and(|rest| rest.starts_with(is_blank));
        match &mut self.state {
            _ if is_call => self.next_call(name, at, out),
            ElementPhase::Between => self.begin_argument(name, out),
            ElementPhase::Text => {
                self.note_implicit_close();
                self.end_argument(out);
                self.begin_argument(name, out);
            }
            ElementPhase::Head { .. } => {
                let mut open = vec![XmlElement::default()];
                let pushed = tree::push(&mut open, name);
                self.state = ElementPhase::Nested(open);
                self.check(pushed);
            }
            ElementPhase::Nested(open) => {
                // Whitespace before the first element is a separator.
                let is_text = open.last_mut().is_some_and(|element| {
                    let is_text = !element.text.trim_matches(is_blank).is_empty();
                    element.text.clear();
                    is_text
                });
                let pushed = if is_text { Err(STRAY_TEXT) } else { tree::push(open, name) };
                self.check(pushed);
            }
            ElementPhase::Start | ElementPhase::Lost | ElementPhase::Ended => {}
        }
    }

    fn end_element(&mut self, name: &str, out: &mut PayloadSink<'_>) {
        let is_own = name == self.key;
        match &mut self.state {
            ElementPhase::Between if is_own && !matches!(name, CALL | SECTION) => {
                return self.repairs.insert(Repair::DuplicateTag);
            }
            ElementPhase::Head { .. } | ElementPhase::Text if is_own => {
                return self.end_argument(out);
            }
            ElementPhase::Nested(open) if open.len() == 1 && is_own => {
                return self.end_argument(out);
            }
            ElementPhase::Nested(open) => {
                if let Ok(mut element) = tree::pop(open, name) {
                    element.is_list = element.has_items();
                    if let Some(parent) = open.last_mut() {
                        parent.children.push(element);
                    }
                    return;
                }
            }
            ElementPhase::Head { .. } | ElementPhase::Text | ElementPhase::Between => {}
            ElementPhase::Start | ElementPhase::Lost | ElementPhase::Ended => {}
        }
        match name {
            CALL => self.end_call(out),
            // The block around the call also ends the call.
            SECTION => {
                self.repairs.insert(Repair::ImplicitClose);
                self.end_call(out);
            }
            _ => self.fail(NOT_OPEN, self.taken),
        }
    }

    /// Ends the call at its own tag.
    fn end_call(&mut self, out: &mut PayloadSink<'_>) {
        match self.state {
            ElementPhase::Head { .. } | ElementPhase::Text => {
                self.note_implicit_close();
                self.end_argument(out);
            }
            ElementPhase::Nested(_) => self.fail(NOT_CLOSED, self.taken),
            ElementPhase::Start
            | ElementPhase::Between
            | ElementPhase::Lost
            | ElementPhase::Ended => {}
        }
        if matches!(self.state, ElementPhase::Between) {
            self.arguments.finish(&mut json_to(out));
        }
        self.state = ElementPhase::Ended;
    }

    /// Records that an argument has no end of its own, unless that is a mistake.
    fn note_implicit_close(&mut self) {
        if self.inner_end.is_none() {
            self.repairs.insert(Repair::ImplicitClose);
        }
    }

    fn begin_argument(&mut self, key: &str, out: &mut PayloadSink<'_>) {
        self.key = CompactString::from(key);
        self.whitespace.clear();
        let want = WrittenForm::of(&TagAttributes::default(), || self.schema());
        let json = &mut json_to(out);
        self.state = match want {
            WrittenForm::Text => ElementPhase::Text,
            WrittenForm::Literal(_) => ElementPhase::Head { is_nested: false },
            WrittenForm::Union(_) | WrittenForm::Written(_) => {
                ElementPhase::Head { is_nested: false }
            }
            WrittenForm::Json(_) => ElementPhase::Head { is_nested: true },
        };
        if !self.arguments.begin(key, want, self.tools.schema(), json) {
            self.fault.get_or_insert((tree::DUPLICATE, self.taken));
        }
    }

    /// Ends the current argument.
    fn end_argument(&mut self, out: &mut PayloadSink<'_>) {
        let element = match mem::replace(&mut self.state, ElementPhase::Between) {
            ElementPhase::Nested(open) => open.into_iter().next(),
            // If there are no elements, it is an empty list or object.
            ElementPhase::Head { is_nested: true } => Some(XmlElement::default()),
            ElementPhase::Head { is_nested: false } => {
                self.begin_text(out);
                None
            }
            ElementPhase::Start
            | ElementPhase::Between
            | ElementPhase::Text
            | ElementPhase::Lost
            | ElementPhase::Ended => None,
        };
        let json = &mut json_to(out);
        let ended = match element {
            Some(mut element) => {
                let mut whole = String::new();
                element.is_list = element.has_items();
                let written = element.write(self.schema(), &mut whole);
                self.arguments.whole(&whole, json);
                written.map_err(|reason| (reason, self.taken))
            }
            None => self.arguments.end(json).map(|repairs| self.repairs.extend(repairs)),
        };
        let inner = self.inner_end.take().map(|place| (STRAY_TEXT, place));
        if let Some(fault) = ended.err().or(inner) {
            self.fault.get_or_insert(fault);
        }
    }

    /// Returns the schema of the current argument.
    fn schema(&self) -> ValueSchema<'_> {
        self.tools.schema().member(&self.key)
    }

    fn check(&mut self, done: Result<(), &'static str>) {
        if let Err(reason) = done {
            self.fail(reason, self.taken);
        }
    }

    /// Records a mistake, after which only the end of the call counts.
    fn fail(&mut self, reason: &'static str, at: usize) {
        self.fault.get_or_insert((reason, at));
        self.state = ElementPhase::Lost;
    }
}

impl XmlElement {
    /// Returns `true` if the elements inside are the items of a list.
    fn has_items(&self) -> bool {
        !self.children.is_empty() && self.children.iter().all(|child| child.name == ITEM)
    }
}
