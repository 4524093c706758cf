//! The roles of the values of a call.

/// The shape of a call in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// `{"name":…,"arguments":…}`, or an array of these.
    Calls,
    /// Calls whose key `id` or `tool_call_id` contains the model's id.
    CallsWithIds,
    /// One such object; a square bracket begins something else.
    OneCall,
    /// An array of calls keyed by name: `[{"name":{…arguments…}}]`
    Keyed,
}

/// The role of the current value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ValueRole {
    /// A value that is not needed.
    #[default]
    Other,
    Key,
    Name,
    Id,
    Server,
    /// An object of arguments, streamed as it is.
    Arguments,
    /// A string that contains the arguments as JSON.
    StringArguments,
    /// A word in place of arguments, such as `null`.
    WordArguments,
}

/// The arguments of the current call, as far as they have been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ArgumentsProgress {
    #[default]
    Nothing,
    /// `null` or a string without content, which means no arguments.
    Empty,
    Arguments,
}

/// The position of the calls in the payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CallLayout {
    /// The payload consists of the arguments: the name came before it.
    #[default]
    ArgumentsOnly,
    Shape(JsonShape),
}
