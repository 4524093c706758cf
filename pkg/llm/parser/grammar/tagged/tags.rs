//! The tags of a dialect whose calls are named parameters.

/// The tags in which a family of models writes the functions and parameters of its calls.
///
/// A function or parameter tag carries a name, as `=NAME` or as an attribute `name="NAME"` (also
/// `tool` and `key`), and ends with the tag end. Two more attributes type the value of a parameter:
/// `string="true"` or `"false"`, and `type="number"` and the like. Without functions the name is the
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
    /// Opens a function, up to its name, such as `<function`; empty where the name is plain text.
    pub(crate) function: &'static str,
    /// Ends a function, such as `</function>`. Empty: whatever ends the call does.
    pub(crate) function_end: &'static str,
    /// Opens a parameter, up to its name, such as `<parameter`; whole, such as `<arg_key>`, where
    /// the key is text that `key_end` ends.
    pub(crate) parameter: &'static str,
    /// Ends a key that is text, such as `</arg_key>`; empty where keys stand in the tag.
    pub(crate) key_end: &'static str,
    /// Begins the value behind a key that is text, such as `<arg_value>`. Empty: the value begins at
    /// once.
    pub(crate) value_start: &'static str,
    /// Around the type of a value between a key that is text and its value.
    pub(crate) kind: [&'static str; 2],
    /// Around one JSON object that holds all arguments in place of parameters.
    pub(crate) object: [&'static str; 2],
    /// Ends a value, such as `</parameter>`.
    pub(crate) parameter_end: &'static str,
    /// Ends a tag that carries a name, mostly `>`; ends a name that is plain text.
    pub(crate) tag_end: &'static str,
    /// The text around a value that is not part of it.
    pub(crate) framing: ValueFraming,
    /// Set when the end of a function ends the call.
    pub(crate) ends_itself: bool,
    /// Set when a tag that ends with `>` may carry a suffix of at most 64 bytes before it.
    pub(crate) suffixes: bool,
    /// Set when values are JSON, whatever the schema admits.
    pub(crate) is_json: bool,
    /// Set when entities stand for characters in the attributes of tags.
    pub(crate) has_entities: bool,
}

/// The text around a value that is not part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ValueFraming {
    /// Nothing: the value is what stands between its tags.
    #[default]
    None,
    /// One line end right behind the start and one right before the end, where they are there.
    LineEnds,
    /// The marks of a CDATA section, where the value is one.
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

    /// Creates tags that carry the names: the opening and the end of a function, those of a
    /// parameter, and what ends an opening tag, mostly `>`.
    ///
    /// Opening tags are given up to the name, such as `<function`. With an empty end of a function,
    /// whatever ends the call ends the function too.
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

    /// Creates pairs of a key and a value behind a plain name: what is around a key, what is around
    /// a value, and what ends the name besides a line end and the first key; it may be empty.
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

    /// Drops one line end right behind the start of a value and one right before its end, where
    /// they are there. Default: all of a value belongs to it.
    #[must_use]
    pub const fn framing(mut self) -> Self {
        self.framing = ValueFraming::LineEnds;
        self
    }

    /// Drops the marks of a CDATA section around a value, where the value is one. Default: all of a
    /// value belongs to it.
    #[must_use]
    pub const fn cdata(mut self) -> Self {
        self.framing = ValueFraming::Cdata;
        self
    }

    /// Sets the tags around the type of a value between a key that is text and its value, such as
    /// `<arg_type>` and `</arg_type>`; what stands there is read like an attribute `type`. Default:
    /// none.
    #[must_use]
    pub const fn kind(mut self, kind: [&'static str; 2]) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the tags around one JSON object that holds all arguments in place of parameters: the
    /// opening tag up to its attributes, such as `<json`, and `</json>`. Default: none. A bare object
    /// that stands where the first parameter could is read in any case.
    #[must_use]
    pub const fn object(mut self, object: [&'static str; 2]) -> Self {
        self.object = object;
        self
    }

    /// Lets the end of a function end the call. Default: another function may follow in the same
    /// call.
    #[must_use]
    pub const fn ends_itself(mut self) -> Self {
        self.ends_itself = true;
        self
    }

    /// Lets a tag that ends with `>` carry a suffix of at most 64 bytes before it, as in
    /// `<arg_key:x>`. Default: no.
    #[must_use]
    pub const fn suffixes(mut self) -> Self {
        self.suffixes = true;
        self
    }

    /// Lets entities such as `&amp;` stand for characters in the attributes of tags. Default: what
    /// stands there is the name itself.
    #[must_use]
    pub const fn entities(mut self) -> Self {
        self.has_entities = true;
        self
    }

    /// Reads values behind keys that are text as JSON: strings stand in quotes.
    #[must_use]
    pub(crate) const fn json(mut self) -> Self {
        self.is_json = true;
        self
    }

    /// Returns `true` when a payload that begins with this byte may begin with a function's tag.
    pub(crate) fn function_begins_with(&self, first: u8) -> bool {
        self.function.bytes().next() == Some(first)
    }

    /// Returns what may stand behind the tag of a function.
    pub(crate) fn behind_function(&self) -> impl Iterator<Item = &'static str> {
        let all = [self.parameter, self.function_end, self.object[0], self.function];
        all.into_iter().filter(|tag| !tag.is_empty())
    }

    /// Returns everything that may structure a payload.
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
