//! What a value of a call is for.

/// The shape of a call in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// `{"name":…,"arguments":…}`, or an array of these.
    Calls,
    /// The same; the key `id` or `tool_call_id` holds the model's id of the call.
    CallsWithIds,
    /// One such object; a square bracket begins something else.
    OneCall,
    /// `[{"name":{…arguments…}}]`
    Keyed,
}

/// What the current value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing that is asked for.
    Other,
    Key,
    Name,
    Id,
    Server,
    /// An object of arguments: streamed as it is.
    Arguments,
    /// A string that holds the arguments as JSON.
    StringArguments,
    /// A word in place of arguments, such as `null`.
    WordArguments,
}

/// Whether the arguments of the current call have been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    /// `null` or a string without content: stands for no arguments.
    Empty,
    Arguments,
}

/// Where in the payload the calls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// The payload is the arguments: the name stood before it.
    ArgumentsOnly,
    Shape(JsonShape),
}
