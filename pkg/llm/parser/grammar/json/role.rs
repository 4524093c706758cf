//! The roles of the values of a call.

/// The shape of a call in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// `{"name":…,"arguments":…}`, or an array of these.
    Calls,
    /// Calls whose key `id` or `tool_call_id` holds the model's id.
    CallsWithIds,
    /// One such object; a square bracket begins something else.
    OneCall,
    /// `[{"name":{…arguments…}}]`
    Keyed,
}

/// The role of the current value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing that is asked for.
    #[default]
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

/// The arguments of the current call, as far as they were seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Seen {
    #[default]
    Nothing,
    /// `null` or a string without content: stands for no arguments.
    Empty,
    Arguments,
}

/// The place of the calls in the payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Layout {
    /// The payload is the arguments: the name stood before it.
    #[default]
    ArgumentsOnly,
    Shape(JsonShape),
}
