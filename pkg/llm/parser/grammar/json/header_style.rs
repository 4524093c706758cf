//! The formats of headers that contain the name of a call.

/// The format of a header: a list of fields, each with the text that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeaderStyle {
    pub(super) fields: [(HeaderField, &'static str); 2],
    pub(super) payload: HeaderPayload,
}

/// The form of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderPayload {
    /// A JSON object.
    Json,
    /// A JSON object that repeats the name, or contains it if the header does not.
    Call,
    /// Text, which becomes the argument `text`.
    Text,
    /// A JSON object, or text that is the one argument of the tool that can be.
    Body,
}

/// A field of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderField {
    /// The name, possibly after this text.
    Name { behind: &'static str },
    /// The name; this word in its place means that the name is the next field.
    NameOrWord(&'static str),
    /// The name, possibly followed by this text and the id of the call.
    NameAndId(&'static str),
    /// The id of the call.
    CallId,
    /// The id of the call in the form `functions.name:index`.
    Id,
    /// Words, one of which is `to=functions.name`.
    Recipient,
    /// An element with the server, which may be missing, and the opening tag and text of the one with the name.
    Elements,
    /// A name that ends with its word.
    FirstWord,
    /// Text without meaning; empty if no text ends it.
    Ignored,
}

impl HeaderStyle {
    /// `functions.name:index`, a marker.
    pub(crate) const KIMI: Self = Self::new(HeaderField::Id, "<|tool_call_argument_begin|>");
    /// `function`, a marker, the name, and the arguments in a fence; or the name, the marker.
    pub(crate) const DEEPSEEK: Self =
        Self::new(HeaderField::NameOrWord("function"), "<｜tool▁sep｜>").and(NAME, "\n");
    /// The server and the name in elements, then the element of the arguments.
    pub(crate) const ELEMENTS: Self =
        Self::new(HeaderField::Elements, "</tool_name>").and(HeaderField::Ignored, "<arguments>");
    /// `function`, the name, and the arguments, on a line each.
    pub(crate) const STEP_AUDIO: Self =
        Self::new(HeaderField::NameOrWord("function"), "\n").and(NAME, "\n");
    /// The name in a tag; or the word, and the name as the first word of the text behind the tag.
    pub(crate) const CWM: Self = Self {
        payload: HeaderPayload::Body,
        ..Self::new(HeaderField::NameOrWord("function"), ">").and(HeaderField::FirstWord, "\n")
    };
    /// The name, possibly `[CALL_ID]` and the id, then `[ARGS]`.
    pub(crate) const MISTRAL: Self = Self::new(HeaderField::NameAndId("[CALL_ID]"), "[ARGS]");
    /// The id of the call, a marker, the name, a marker.
    pub(crate) const SOLAR: Self =
        Self::new(HeaderField::CallId, "<|tool_call:name|>").and(NAME, "<|tool_call:args|>");
    /// The header of a channel.
    pub(crate) const HARMONY: Self = Self::new(HeaderField::Recipient, "<|message|>");
    /// The name, the opener of a call, and an object that repeats the name.
    pub(crate) const INKLING: Self = Self {
        payload: HeaderPayload::Call,
        ..Self::new(
            HeaderField::Name { behind: "<|message_model|>" },
            "<|content_invoke_tool_json|>",
        )
    };
    /// The name, the opener of a call, and text.
    pub(crate) const INKLING_TEXT: Self = Self {
        payload: HeaderPayload::Text,
        ..Self::new(
            HeaderField::Name { behind: "<|message_model|>" },
            "<|content_invoke_tool_text|>",
        )
    };

    /// Creates the format of a name, followed by `separator`.
    pub(crate) const fn before(separator: &'static str) -> Self {
        Self::new(NAME, separator)
    }

    /// Creates the format of a name, followed by `separator`; the arguments follow `last`.
    pub(crate) const fn between(separator: &'static str, last: &'static str) -> Self {
        Self::new(NAME, separator).and(HeaderField::Ignored, last)
    }

    /// Returns the texts that the header begins with, if it does not begin with any name.
    pub(crate) fn fronts(&self) -> Option<&'static [&'static str]> {
        match self.fields[0] {
            (HeaderField::Elements, _) => Some(&["<server_name", "<tool_name"]),
            (HeaderField::NameOrWord("function"), "\n") => Some(&["function\n"]),
            _ => None,
        }
    }

    /// Returns `true` if the arguments may be text on the lines after the header.
    pub(crate) fn has_lines(&self) -> bool {
        self.payload == HeaderPayload::Body
    }

    /// Returns the texts that may follow the first name or word; empty if there are none.
    pub(crate) fn separators(&self) -> [&'static str; 2] {
        let [(field, end), _] = self.fields;
        [end, if let HeaderField::NameAndId(id) = field { id } else { "" }]
    }

    /// Returns the texts that end the fields and parts of them; empty if there are none.
    pub(crate) fn all_separators(&self) -> [&'static str; 3] {
        let [first, id] = self.separators();
        [first, id, self.fields[1].1]
    }

    const fn new(field: HeaderField, end: &'static str) -> Self {
        Self { fields: [(field, end), (HeaderField::Ignored, "")], payload: HeaderPayload::Json }
    }

    const fn and(self, field: HeaderField, end: &'static str) -> Self {
        Self { fields: [self.fields[0], (field, end)], ..self }
    }
}

const NAME: HeaderField = HeaderField::Name { behind: "" };
