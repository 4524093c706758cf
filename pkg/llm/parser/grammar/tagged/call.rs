//! Reading of payloads of functions with named parameters.

use compact_str::CompactString;

use super::{
    arguments::TagArguments,
    inner_call::InnerCall,
    piece::{PieceOrigin, TextPiece},
    suspect_tag::SuspectTag,
    tag_match::{TagMarks, TagPhase},
    tags::Tags,
};
use crate::grammar::{
    line_end::LineEnd,
    reader::{
        MarkerGuard, NO_NAME, PayloadFault, PayloadReader, PayloadSink, PlainText, ValueTag,
        give_source, is_free_of,
    },
    schema::KnownTools,
};
use forgeline_json::{RepairSet, slice};

/// The fault of arguments that should be a single object.
pub(super) const NO_OBJECT: &str = "the arguments are not a JSON object";

/// A reader of functions with named parameters, in pieces of any size.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct ParamsCall {
    pub(super) marks: TagMarks,
    /// The tools, whose schemas determine the types of values.
    pub(super) tools: KnownTools,
    pub(super) state: TagPhase,
    /// Text that may become a mark; bounded by the length of the longest possible mark.
    pub(super) held: String,
    /// Text from a tag that may be data of a value.
    pub(super) suspect: Option<SuspectTag>,
    /// The beginning of another call with which the value so far ends.
    pub(super) inner: Option<InnerCall>,
    /// The first beginning of another call in the current value.
    pub(super) opener: Option<usize>,
    /// The position of the opener of a call at which the current key began; it may begin another call instead.
    pub(super) unsure_key: Option<usize>,
    /// The first tag of the grammar that was data of a value.
    pub(super) stray: Option<usize>,
    /// `true` if the JSON of the current value contains a broken string: tags inside its strings count.
    pub(super) has_broken_string: bool,
    /// A plain name or a key; bounded by `MAX_NAME_BYTES`.
    pub(super) name: CompactString,
    /// The type that precedes a value; longer ones are unknown.
    pub(super) kind: CompactString,
    pub(super) arguments: TagArguments,
    pub(super) repairs: RepairSet,
    pub(super) fault: Option<PayloadFault>,
    /// The end of a value inside the current one, which was treated as data: the current value must then
    /// have an end of its own.
    pub(super) inner_end: Option<usize>,
    /// `true` if the call ended without a closer of its own.
    pub(super) lacks_closer: bool,
    /// `true` if the name may come before a function that contains it too.
    pub(super) may_be_behind_name: bool,
    /// The number of bytes of the payload before the current piece.
    pub(super) taken: usize,
}

impl ParamsCall {
    /// Creates a reader of calls with `tags`; the schemas of `tools` determine the types of values.
    pub(crate) fn new(tags: Tags, tools: KnownTools) -> Self {
        let state = if tags.function.is_empty() { TagPhase::Name } else { TagPhase::Start };
        let mode = tools.mode();
        Self {
            marks: TagMarks::new(tags),
            tools,
            state,
            held: String::new(),
            suspect: None,
            inner: None,
            opener: None,
            unsure_key: None,
            stray: None,
            has_broken_string: false,
            name: CompactString::const_new(""),
            kind: CompactString::const_new(""),
            arguments: TagArguments::new(mode),
            repairs: RepairSet::default(),
            fault: None,
            inner_end: None,
            lacks_closer: false,
            may_be_behind_name: false,
            taken: 0,
        }
    }

    /// Allows text before the first function.
    #[must_use]
    pub(crate) fn behind_name(mut self) -> Self {
        self.may_be_behind_name = true;
        self
    }

    /// Returns `true` inside a value.
    pub(super) fn is_in_value(&self) -> bool {
        matches!(
            self.state,
            TagPhase::ValueStart | TagPhase::Value(_) | TagPhase::Cdata | TagPhase::CdataDone
        )
    }

    /// Returns `true` in text that is source of the arguments.
    fn is_in_function(&self) -> bool {
        !matches!(
            self.state,
            TagPhase::Start
                | TagPhase::Name
                | TagPhase::Done
                | TagPhase::Ended
                | TagPhase::Lost
                | TagPhase::Failed
        )
    }

    /// Returns the quote of the string in a value in which a tag is data while the string continues.
    pub(super) fn value_quote(&self) -> Option<&'static str> {
        let may_count = self.has_broken_string || !matches!(self.state, TagPhase::Value(_));
        if may_count { None } else { self.arguments.string_quote().map(quote_of) }
    }

    /// Processes text up to `end` that is not a mark.
    pub(super) fn text_to(
        &mut self,
        end: usize,
        piece: &mut TextPiece<'_>,
        out: &mut PayloadSink<'_>,
    ) {
        piece.end = end;
        self.text(piece, out);
        piece.at = end;
    }

    /// Returns `true` if the piece is only the content of a value, as almost all pieces are.
    #[inline]
    fn is_all_value(&self, text: &str) -> bool {
        matches!(self.state, TagPhase::Value(_))
            && self.held.is_empty()
            && self.suspect.is_none()
            && self.inner.is_none()
            && self.marks.find_first(text.as_bytes()) == text.len()
    }

    /// Emits the source up to `piece.at`.
    pub(super) fn give_source(&self, piece: &mut TextPiece<'_>, out: &mut PayloadSink<'_>) {
        if self.is_in_function() && piece.source < piece.at {
            give_source(slice(piece.text, piece.source..piece.at), out);
        }
        piece.source = piece.at;
    }

    /// Records a mistake at `piece.at`, after which nothing is read.
    pub(super) fn fail(
        &mut self,
        reason: &'static str,
        piece: &mut TextPiece<'_>,
        out: &mut PayloadSink<'_>,
    ) {
        self.give_source(piece, out);
        self.fault.get_or_insert((reason, self.place(piece)));
        let may_end = self.is_in_function() && self.marks.tags().ends_itself;
        self.state = if may_end { TagPhase::Lost } else { TagPhase::Failed };
    }

    /// Returns the byte offset in the payload of `piece.at`.
    pub(super) fn place(&self, piece: &TextPiece<'_>) -> usize {
        (self.taken + piece.place.start + piece.at).saturating_sub(piece.place.back)
    }
}

fn quote_of(quote: u8) -> &'static str {
    if quote == b'\'' { "'" } else { "\"" }
}

impl PayloadReader for ParamsCall {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        if self.state == TagPhase::Ended {
            return 0;
        }
        if self.is_all_value(text) {
            self.pass_value(text, out);
            return text.len();
        }
        let read = self.read_all(text, PieceOrigin::default(), out).unwrap_or(text.len());
        self.taken += read;
        read
    }

    fn plain(&self) -> PlainText {
        let is_inside = matches!(self.state, TagPhase::Value(_) | TagPhase::Object);
        let is_undecided = self.suspect.is_some() || self.inner.is_some() || !self.held.is_empty();
        if !is_inside || is_undecided || !self.marks.begin_with_angle() {
            return PlainText::Nothing;
        }
        let plain = self.arguments.plain();
        if matches!(self.state, TagPhase::Value(LineEnd::None) | TagPhase::Object) {
            if plain == PlainText::MarkupRules { PlainText::Framed } else { plain }
        } else if plain == PlainText::MarkupRules {
            PlainText::MarkupTail
        } else {
            PlainText::Nothing
        }
    }

    fn pass_escaped(&mut self, text: &str, out: &mut dyn FnMut(&str)) -> Option<PlainText> {
        let TagPhase::Value(before) = self.state else { return None };
        let goes_on = is_free_of(b'<', text)
            || (before == LineEnd::None && !self.marks.may_begin_in_value(text));
        if !goes_on || self.arguments.plain() != PlainText::MarkupRules {
            return None;
        }
        self.value(text, before, self.taken, &mut |json: &str| out(json));
        let is_inside = self.state == TagPhase::Value(LineEnd::None);
        Some(if is_inside { PlainText::Framed } else { PlainText::MarkupTail })
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        self.marks.is_fresh = false;
        self.arguments.skip(bytes);
    }

    fn is_whole(&self) -> bool {
        // A call that ended itself has ended, whatever is wrong with it.
        self.state == TagPhase::Ended || (self.state == TagPhase::Done && self.fault.is_none())
    }

    fn is_whole_in_block(&self) -> bool {
        let is_open = matches!(
            self.state,
            TagPhase::Name
                | TagPhase::Between
                | TagPhase::ValueStart
                | TagPhase::Value(_)
                | TagPhase::CdataDone
        ) && !self.is_nameless();
        self.is_whole() || (is_open && self.fault.is_none())
    }

    fn has_ended(&self) -> bool {
        self.state == TagPhase::Ended
    }

    /// Returns `false` for a call that ends itself while its end is searched for.
    fn has_failed(&self) -> bool {
        self.fault.is_some() && (self.state == TagPhase::Failed || !self.marks.tags().ends_itself)
    }

    fn guard(&self) -> MarkerGuard {
        if let Some(suspect) = &self.suspect {
            if suspect.is_of_call() {
                return MarkerGuard::InValue;
            }
            return suspect.open_quote().map_or(MarkerGuard::Open, MarkerGuard::InValueString);
        }
        if let Some(quote) = self.value_quote() {
            return MarkerGuard::InValueString(quote);
        }
        if self.is_in_value() && self.state != TagPhase::CdataDone {
            let has_ended = self.marks.value_end(&self.held).is_some();
            return if has_ended { MarkerGuard::Open } else { MarkerGuard::InValue };
        }
        if self.state == TagPhase::Name && self.tools.takes_arguments(self.name.trim()) {
            return MarkerGuard::BehindName;
        }
        match self.arguments.string_quote() {
            _ if self.marks.is_attribute(&self.held) => MarkerGuard::Closed,
            Some(quote) if self.state == TagPhase::Object => MarkerGuard::InString(quote_of(quote)),
            _ => MarkerGuard::Open,
        }
    }

    fn value_tag(&self, text: &str, anywhere: bool) -> Option<ValueTag> {
        self.marks.value_tag(text, anywhere)
    }

    fn end_value(&mut self, out: &mut PayloadSink<'_>) {
        self.settle_held(out);
        self.end_value_without_tag(out);
    }

    fn begin_key(&mut self, bytes: usize, out: &mut PayloadSink<'_>) {
        self.settle_held(out);
        if self.state == TagPhase::Name {
            self.end_name(0, self.taken, out);
            self.name.clear();
            self.state = TagPhase::Key;
            self.unsure_key = Some(self.taken);
            self.marks.is_fresh = false;
        }
        self.taken += bytes;
    }

    fn begin_inner_call(&mut self) {
        let is_new = self.marks.tags().function.is_empty() && self.suspect.is_none();
        if is_new && self.held.is_empty() && self.value_quote().is_none() {
            self.begin_inner(CompactString::const_new(""), self.taken);
        }
    }

    fn end_inner_call(&mut self, out: &mut PayloadSink<'_>) {
        if self.suspect.as_ref().is_some_and(SuspectTag::is_of_call)
            && self.marks.tags().function.is_empty()
        {
            self.settle_suspect(true, PieceOrigin::default(), out);
        } else if self.is_in_value() && self.suspect.is_none() && self.value_quote().is_none() {
            self.stray.get_or_insert(self.taken);
        }
    }

    fn break_string(&mut self, out: &mut PayloadSink<'_>) {
        if self.suspect.is_none() {
            self.has_broken_string = true;
        }
        self.settle_suspect(false, PieceOrigin::default(), out);
    }

    fn repairs(&self) -> RepairSet {
        self.repairs
    }

    fn end_without_closer(&mut self) {
        self.lacks_closer = true;
    }

    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        self.settle_held(out);
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.state == TagPhase::Key && self.unsure_key.is_some() && !self.name.trim().is_empty()
        {
            self.begin_call_of_key(0, out);
        }
        let fault = match self.state {
            TagPhase::Done | TagPhase::Ended => return Ok(()),
            TagPhase::Name
            | TagPhase::Between
            | TagPhase::Object
            | TagPhase::ValueStart
            | TagPhase::Value(_)
            | TagPhase::CdataDone
                if !self.is_nameless() =>
            {
                return self.close_function(out);
            }
            TagPhase::Start => "the call is empty",
            TagPhase::Name | TagPhase::Between | TagPhase::Object => NO_NAME,
            TagPhase::Key | TagPhase::Gap | TagPhase::Kind => "a key has no value",
            TagPhase::ObjectStart => NO_OBJECT,
            TagPhase::ValueStart | TagPhase::Value(_) | TagPhase::Cdata | TagPhase::CdataDone => {
                "a value is not closed before the end of the call"
            }
            TagPhase::Lost | TagPhase::Failed => "the call cannot be read",
        };
        Err((fault, self.taken))
    }
}
