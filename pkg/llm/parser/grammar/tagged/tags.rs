//! The tags of a dialect whose calls are named parameters.

/// The tags with which a family of models writes the functions and parameters of its calls.
///
/// A function or parameter tag contains a name, as `=NAME` or as an attribute `name="NAME"` (also
/// `tool` and `key`), and ends with the tag end. Two more attributes determine the type of a parameter's value:
/// `string="true"` or `"false"`, and `type="number"` and similar. If there are no functions, the name is the
/// plain text before the first parameter, a line end or the tag end.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::Tags;
///
/// // <run task="…"><with name="…">…</with></run>, with line breaks around each value.
/// const RUN: Tags = Tags::new(["<run", "</run>"], ["<with", "</with>"], ">").framing();
///
/// // NAME <key>…</key><value>…</value>
/// const PAIRS: Tags = Tags::pairs(["<key>", "</key>"], ["<value>", "</value>"], "");
/// assert_ne!(RUN, PAIRS);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct Tags {
    /// The beginning of a function's tag, up to its name, such as `<function`; empty if the name is plain text.
    pub(crate) function: &'static str,
    /// The end of a function, such as `</function>`. If empty, the function ends with the call.
    pub(crate) function_end: &'static str,
    /// The beginning of a parameter's tag, up to its name, such as `<parameter`; the whole tag, such as `<arg_key>`, if
    /// the key is text ended by `key_end`.
    pub(crate) parameter: &'static str,
    /// The end of a key that is text, such as `</arg_key>`; empty if keys are inside the tag.
    pub(crate) key_end: &'static str,
    /// The beginning of the value after a key that is text, such as `<arg_value>`. If empty, the value begins
    /// immediately.
    pub(crate) value_start: &'static str,
    /// The tags around the type of a value, between a key that is text and its value.
    pub(crate) kind: [&'static str; 2],
    /// The tags around one JSON object that contains all arguments in place of parameters.
    pub(crate) object: [&'static str; 2],
    /// The end of a value, such as `</parameter>`.
    pub(crate) parameter_end: &'static str,
    /// The end of a tag that contains a name, usually `>`, or of a name that is plain text.
    pub(crate) tag_end: &'static str,
    /// The text around a value that is not part of it.
    pub(crate) framing: ValueFraming,
    /// `true` if the end of a function ends the call.
    pub(crate) ends_itself: bool,
    /// `true` if a tag that ends with `>` may contain a suffix of at most 64 bytes before it.
    pub(crate) suffixes: bool,
    /// `true` if values are JSON, whatever the schema allows.
    pub(crate) is_json: bool,
    /// `true` if entities stand for characters in the attributes of tags.
    pub(crate) has_entities: bool,
}

/// The text around a value that is not part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ValueFraming {
    /// None: the value is exactly the text between its tags.
    #[default]
    None,
    /// One line end directly after the start and one directly before the end, if present.
    LineEnds,
    /// The markers of a CDATA section, if the value is one.
    Cdata,
}

impl Tags {
    const NONE: Self = Self {
        function: "",
        function_end: "",
        parameter: "",
        key_end: "",
        value_start: "",
        parameter_end: "",
        tag_end: "",
        kind: [""; 2],
        object: [""; 2],
        framing: ValueFraming::None,
        ends_itself: false,
        suffixes: false,
        is_json: false,
        has_entities: false,
    };

    /// Creates tags that contain the names: the beginning and the end of a function, those of a
    /// parameter, and the end of an opening tag, usually `>`.
    ///
    /// Opening tags are given up to the name, such as `<function`. If the end of a function is empty,
    /// the function ends with the call.
    #[must_use]
    pub const fn new(
        function: [&'static str; 2],
        parameter: [&'static str; 2],
        tag_end: &'static str,
    ) -> Self {
        Self {
            function: function[0],
            function_end: function[1],
            parameter: parameter[0],
            parameter_end: parameter[1],
            tag_end,
            ..Self::NONE
        }
    }

    /// Creates pairs of a key and a value after a plain name: the tags around a key, those around
    /// a value, and a text that ends the name in addition to a line end and the first key, which may be empty.
    #[must_use]
    pub const fn pairs(
        key: [&'static str; 2],
        value: [&'static str; 2],
        tag_end: &'static str,
    ) -> Self {
        Self {
            parameter: key[0],
            key_end: key[1],
            value_start: value[0],
            parameter_end: value[1],
            tag_end,
            ..Self::NONE
        }
    }

    /// Drops one line end directly after the start of a value and one directly before its end, if
    /// present. Default: the whole text belongs to the value.
    #[must_use]
    pub const fn framing(mut self) -> Self {
        self.framing = ValueFraming::LineEnds;
        self
    }

    /// Drops the markers of a CDATA section around a value, if the value is one. Default: the whole text
    /// belongs to the value.
    #[must_use]
    pub const fn cdata(mut self) -> Self {
        self.framing = ValueFraming::Cdata;
        self
    }

    /// Sets the tags around the type of a value, between a key that is text and its value, such as
    /// `<arg_type>` and `</arg_type>`; the text between them is read like an attribute `type`. Default:
    /// none.
    #[must_use]
    pub const fn kind(mut self, kind: [&'static str; 2]) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the tags around one JSON object that contains all arguments in place of parameters: the
    /// opening tag up to its attributes, such as `<json`, and `</json>`. Default: none. A bare object
    /// in the place of the first parameter is read in any case.
    #[must_use]
    pub const fn object(mut self, object: [&'static str; 2]) -> Self {
        self.object = object;
        self
    }

    /// Makes the end of a function end the call. Default: another function may follow in the same
    /// call.
    #[must_use]
    pub const fn ends_itself(mut self) -> Self {
        self.ends_itself = true;
        self
    }

    /// Allows a tag that ends with `>` to contain a suffix of at most 64 bytes before it, as in
    /// `<arg_key:x>`. Default: no.
    #[must_use]
    pub const fn suffixes(mut self) -> Self {
        self.suffixes = true;
        self
    }

    /// Decodes entities such as `&amp;` in the attributes of tags. Default: the text
    /// is the name itself.
    #[must_use]
    pub const fn entities(mut self) -> Self {
        self.has_entities = true;
        self
    }

    /// Reads values after keys that are text as JSON: strings are quoted.
    #[must_use]
    pub(crate) const fn json(mut self) -> Self {
        self.is_json = true;
        self
    }

    /// Returns `true` if a payload that begins with this byte may begin with a function's tag.
    pub(crate) fn function_begins_with(&self, first: u8) -> bool {
        self.function.bytes().next() == Some(first)
    }

    /// Returns the texts that may follow the tag of a function.
    pub(crate) fn behind_function(&self) -> impl Iterator<Item = &'static str> {
        let all = [self.parameter, self.function_end, self.object[0], self.function];
        all.into_iter().filter(|tag| !tag.is_empty())
    }

    /// Returns all texts that may structure a payload.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static str> {
        let name_end = self.function.is_empty().then_some(self.tag_end);
        [
            self.function,
            self.function_end,
            self.parameter,
            self.key_end,
            self.value_start,
            self.parameter_end,
            self.kind[0],
            self.kind[1],
            self.object[0],
            self.object[1],
        ]
        .into_iter()
        .chain(name_end)
        .filter(|tag| !tag.is_empty())
    }
}
