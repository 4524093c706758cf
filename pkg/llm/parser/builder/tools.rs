//! Tool calls as you describe them.

use std::borrow::Cow;

use super::{
    check::{Markers, is_punctuation, overlaps},
    error::DialectError,
    grammar::PayloadGrammar,
};
use crate::llm::parser::{
    content::{CallEnd, ParsedContent},
    description::{CallForm, Tools, Wrapper},
    dialect::ToolDialect,
    grammar::Tags,
    marker::Marker,
    toolcall::ToolCallParser,
};

impl ToolDialect {
    /// Begins the description of a dialect that the library does not know.
    ///
    /// `name` is what [`name`](Self::name) gives; [`by_name`](Self::by_name) does not find it. An
    /// agent in text mode gives results in Forge's form, or where `name` is that of a known dialect in
    /// that dialect's.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::parser::{ParsedContent, PayloadGrammar, ToolCallParser, ToolDialect};
    ///
    /// let dialect = ToolDialect::builder("at-signs")
    ///     .example(r#"@@run add => {"a":1}@@end"#)
    ///     .call("@@run ", "@@end", PayloadGrammar::NameThenJson { separator: "=>" })
    ///     .build()?;
    ///
    /// let mut parser = ToolCallParser::new(&dialect);
    /// let (mut text, mut arguments) = (String::new(), String::new());
    /// for piece in ["Well. @", "@run clock => {\"zo", "ne\":\"UTC\"}@@", "end"] {
    ///     parser.parse(piece, &mut |content| match content {
    ///         ParsedContent::Text(part) => text.push_str(part),
    ///         ParsedContent::CallArguments(part) => arguments.push_str(part),
    ///         _ => {}
    ///     });
    /// }
    /// assert_eq!((text.as_str(), arguments.as_str()), ("Well. ", "{\"zone\":\"UTC\"}"));
    /// # Ok::<(), forgeline::llm::parser::DialectError>(())
    /// ```
    pub fn builder(name: &'static str) -> ToolDialectBuilder {
        ToolDialectBuilder { name, example: "", wrappers: Vec::new(), calls: Vec::new() }
    }
}

/// Describes a tool-call dialect: markers, and the grammar of what stands between them.
///
/// A marker is spelled as the model writes it. One that is spelled `<name>` or `</name>` is a tag: it
/// counts in any ASCII case and with blanks before its `>`. All others count exactly as they are. In
/// code spans and fences openers are text.
///
/// Text without a byte that a marker begins with passes fastest, so let all of them begin with the
/// same rare byte.
#[derive(Debug, Clone)]
#[must_use = "a builder describes nothing until it is built"]
pub struct ToolDialectBuilder {
    name: &'static str,
    example: &'static str,
    wrappers: Vec<[String; 2]>,
    calls: Vec<Call>,
}

#[derive(Debug, Clone)]
struct Call {
    opener: String,
    closing: Closing,
    grammar: PayloadGrammar,
}

#[derive(Debug, Clone)]
enum Closing {
    /// Any of these.
    Closers(Vec<String>),
    /// The grammar says where the call ends.
    Itself,
    /// So does it here, and the opener is the front of the payload.
    ItselfFromOpener,
}

impl ToolDialectBuilder {
    /// A text in this dialect that makes at least one call; required. An agent in text mode shows it
    /// to the model and says what it calls.
    pub fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// Adds markers around several calls. They belong to nothing and are passed over; the closer
    /// counts once a call or a wrapper has begun.
    pub fn wrapper(mut self, opener: &str, closer: &str) -> Self {
        self.wrappers.push([opener.to_owned(), closer.to_owned()]);
        self
    }

    /// Adds a form of a call.
    pub fn call(self, opener: &str, closer: &str, grammar: PayloadGrammar) -> Self {
        self.call_with_closers(opener, &[closer], grammar)
    }

    /// Adds a form of a call that any of several markers closes.
    pub fn call_with_closers(
        mut self,
        opener: &str,
        closers: &[&str],
        grammar: PayloadGrammar,
    ) -> Self {
        let closers = closers.iter().map(|closer| (*closer).to_owned()).collect();
        let closing = Closing::Closers(closers);
        self.calls.push(Call { opener: opener.to_owned(), closing, grammar });
        self
    }

    /// Adds a form of a call that ends where its grammar ends: behind the last bracket of JSON or
    /// Python, or the end of a function in tags.
    pub fn call_without_closer(mut self, opener: &str, grammar: PayloadGrammar) -> Self {
        self.calls.push(Call { opener: opener.to_owned(), closing: Closing::Itself, grammar });
        self
    }

    /// Adds a form of a call that a function's tag opens and its end closes, with no markers around.
    ///
    /// The opener is that of the function's tag, whatever follows it: `<run` begins a call in `<running>` too.
    pub fn tagged_call(mut self, tags: Tags) -> Self {
        let (opener, grammar) = (tags.function.to_owned(), PayloadGrammar::Tags(tags));
        self.calls.push(Call { opener, closing: Closing::ItselfFromOpener, grammar });
        self
    }

    /// The dialect.
    ///
    /// # Errors
    ///
    /// [`DialectError`], when the markers cannot be told apart or looked for, when a grammar lacks a
    /// part, and when there is no example or it is not read as complete calls.
    pub fn build(self) -> Result<ToolDialect, DialectError> {
        let example = self.example;
        let dialect = self.describe()?;
        if is_example(&dialect, example) { Ok(dialect) } else { Err(DialectError::Example) }
    }

    /// The dialect, whatever its example.
    pub(super) fn describe(self) -> Result<ToolDialect, DialectError> {
        self.check()?;
        let calls = self.calls.into_iter().map(Call::form).collect::<Result<Vec<_>, _>>()?;
        let wrappers = self.wrappers.iter().map(|[opener, closer]| Wrapper {
            opener: Marker::own(opener),
            closer: Marker::own(closer),
        });
        Ok(ToolDialect::own(Tools {
            name: self.name,
            example: self.example,
            wrappers: wrappers.collect(),
            calls: Cow::Owned(calls),
            bare: None,
        }))
    }

    fn check(&self) -> Result<(), DialectError> {
        if self.calls.is_empty() {
            return Err(DialectError::Empty);
        }
        let mut markers = Markers::default();
        for call in &self.calls {
            markers.in_text.push(&call.opener);
            if let Closing::Closers(closers) = &call.closing {
                if closers.is_empty() {
                    return Err(DialectError::NoCloser { opener: call.opener.clone() });
                }
                markers.others.extend(closers.iter().map(String::as_str));
            }
        }
        markers.in_text.extend(self.wrappers.iter().flatten().map(String::as_str));
        markers.check()?;
        self.calls.iter().try_for_each(|call| self.check_payload(call, &markers))
    }

    /// Whether no marker could be a part of the call's payload.
    fn check_payload(&self, call: &Call, markers: &Markers<'_>) -> Result<(), DialectError> {
        let Closing::Closers(closers) = &call.closing else { return Ok(()) };
        let closers = closers.iter().chain(self.wrappers.iter().map(|[_, closer]| closer));
        let ends = call.grammar.ends();
        let mut overlapping = closers
            .map(String::as_str)
            .filter(|closer| ends.iter().any(|end| overlaps(end, closer)));
        let mut all = markers.in_text.iter().chain(&markers.others).copied();
        let in_brackets =
            || all.find(|marker| call.grammar.has_brackets() && is_punctuation(marker));
        match overlapping.next().or_else(in_brackets) {
            Some(marker) => Err(DialectError::InPayload { marker: marker.to_owned() }),
            None => Ok(()),
        }
    }
}

impl Call {
    fn form(self) -> Result<CallForm, DialectError> {
        let (closers, opener_is_payload) = match &self.closing {
            Closing::Closers(closers) => (closers.as_slice(), false),
            Closing::Itself => ([].as_slice(), false),
            Closing::ItselfFromOpener => ([].as_slice(), true),
        };
        Ok(CallForm {
            opener: Marker::own(&self.opener),
            closers: closers.iter().map(|closer| Marker::own(closer)).collect(),
            grammar: self.grammar.checked(&self.opener, closers.is_empty())?,
            opener_is_payload,
        })
    }
}

/// Whether `text` makes calls, all of them complete.
fn is_example(dialect: &ToolDialect, text: &str) -> bool {
    let (mut calls, mut whole) = (0, 0);
    let mut parser = ToolCallParser::new(dialect);
    let out = &mut |content: ParsedContent<'_>| {
        if let ParsedContent::CallEnd { outcome, .. } = content {
            calls += 1;
            whole += usize::from(*outcome == CallEnd::Complete);
        }
    };
    parser.parse(text, out);
    parser.flush(true, out);
    calls > 0 && calls == whole
}
