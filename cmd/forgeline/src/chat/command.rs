//! The commands of a chat.

/// A line that starts with `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Clear,
    Compact,
    Tools,
    Usage,
    Quit,
    Unknown,
}

/// The text of `/help`.
pub(super) const HELP: &str = "\
/help    shows this help
/tools   lists the tools that the model may call
/usage   shows the token usage of this chat
/clear   forgets the conversation
/compact summarizes what was said so far, with your next message
/quit    quits (as Ctrl-D does)

A \\ at the end of a line continues it on the next one.
A line that you type during an answer is sent to the model after the calls in
progress; with a leading !, it is sent at once and cuts the answer short.
Ctrl-C stops an answer; pressed twice, it quits.";

impl ChatCommand {
    /// Returns the command of a line; `None` when the line is for the model.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let word = line.split_whitespace().next().filter(|word| word.starts_with('/'))?;
        Some(match word {
            "/help" | "/?" => Self::Help,
            "/clear" => Self::Clear,
            "/compact" => Self::Compact,
            "/tools" => Self::Tools,
            "/usage" => Self::Usage,
            "/quit" | "/exit" => Self::Quit,
            // A path is something to ask about.
            _ if word.chars().skip(1).any(|character| character == '/') => return None,
            _ => Self::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_and_a_word_is_a_command() {
        #[rustfmt::skip]
        let cases = [
            ("/help",              Some(ChatCommand::Help)),
            ("/quit now",          Some(ChatCommand::Quit)),
            ("/etc/passwd is what", None),
            ("what is /help",      None),
            ("/what",              Some(ChatCommand::Unknown)),
        ];
        for (line, want) in cases {
            assert_eq!(ChatCommand::parse(line), want, "{line}");
        }
        for word in HELP
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|word| word.starts_with('/'))
        {
            assert_ne!(ChatCommand::parse(word), Some(ChatCommand::Unknown), "{word}");
        }
    }
}
