//! The states of a call in tags.

/// The last part that was read, and so what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: a function tag.
    Start,
    /// The beginning of a payload that begins with a plain name: more of the name, or its end.
    Name,
    /// A function's name, or a whole parameter: a parameter, or the end of the function.
    Between,
    /// The opening of a key that is text.
    Key,
    /// A key, or the type of its value: the start of the value.
    Gap,
    /// The opening of a type of a value.
    Kind,
    /// The start of a value; nothing of it yet.
    ValueStart,
    /// A part of a value, and a line end at its end that may be framing.
    Value { has_line_end: bool },
    /// The start of a CDATA section that is a value.
    Cdata,
    /// The end of one: the end of the value.
    CdataDone,
    /// The tag of an object that holds all arguments: the object.
    ObjectStart,
    /// The start of an object that holds all arguments.
    Object,
    /// The end of a function: another one.
    Done,
    /// The end of the function that ends the call.
    Ended,
    /// A mistake in a function whose end ends the call: that end.
    Lost,
    /// A mistake that cannot be repaired.
    Failed,
}
