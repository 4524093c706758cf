//! The arguments of programs that name files.

/// The known facts about a program.
struct ProgramOperands {
    programs: &'static [&'static str],
    operands: OperandKind,
    /// Options whose value, in the next argument or after `=`, is text.
    text_options: &'static [&'static str],
}

/// The kind of arguments that are not options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandKind {
    /// Each names a file, also one that does not exist yet.
    Paths,
    /// The first is a pattern or a script, unless a text option has one; the others name files.
    TextThenPaths,
    /// None names a file.
    Text,
    /// Those that exist are files.
    Unknown,
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    Text,
    Path,
    /// A path if such a file exists.
    Unknown,
}

const fn operands(
    programs: &'static [&'static str],
    operands: OperandKind,
    text_options: &'static [&'static str],
) -> ProgramOperands {
    ProgramOperands { programs, operands, text_options }
}

#[rustfmt::skip]
const PROGRAMS: [ProgramOperands; 7] = [
    operands(&["cat", "head", "tail", "less", "more", "ls", "wc", "sort", "uniq", "cut", "nl", "tac", "od", "cmp", "diff", "stat", "file", "du",
        "cp", "mv", "rm", "rmdir", "mkdir", "touch", "ln", "tee", "install", "truncate", "shred", "mkfifo", "source", "realpath", "readlink"],
        OperandKind::Paths, &["--separator", "-d", "--delimiter"]),
    operands(&["sed", "gsed"], OperandKind::TextThenPaths, &["-e", "--expression"]),
    operands(&["awk", "gawk", "mawk", "nawk"], OperandKind::TextThenPaths, &["-F", "--field-separator", "-v", "--assign", "-e", "--source"]),
    operands(&["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "jq", "yq"], OperandKind::TextThenPaths,
        &["-e", "--regexp", "--arg", "--include", "--exclude", "--exclude-dir", "-g", "--glob"]),
    operands(&["echo", "printf", "expr", "seq", "true", "false", "date"], OperandKind::Text, &[]),
    operands(&["git", "hg", "jj", "gh", "glab"], OperandKind::Unknown,
        &["-m", "-am", "--message", "-G", "-S", "--grep", "--author", "--format", "--pretty", "-t", "--title", "-b", "--body", "--trailer"]),
    operands(&["cargo", "npm", "pnpm", "yarn", "go", "pytest", "make", "just"], OperandKind::Unknown, &["-k", "--filter", "-t", "--testNamePattern", "-run"]),
];

/// Returns the kind of each argument of a program.
pub(super) fn kinds(program: &str, arguments: &[String]) -> Vec<ArgumentKind> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let known = PROGRAMS.iter().find(|known| known.programs.contains(&name));
    let (operands, text_options) =
        known.map_or((OperandKind::Unknown, &[][..]), |known| (known.operands, known.text_options));
    let is_text_option = |argument: &str| {
        text_options.contains(&argument.split_once('=').map_or(argument, |(name, _)| name))
    };
    // A script in an option takes the place of the first operand.
    let scripts = ["-e", "--expression", "--regexp", "--source", "-f", "--file"];
    let has_script = arguments.iter().any(|argument| {
        let name = argument.split_once('=').map_or(argument.as_str(), |(name, _)| name);
        scripts.contains(&name)
    });
    let (mut is_first, mut are_options_over, mut is_value_text) = (!has_script, false, false);
    let kind = |argument: &String| {
        if std::mem::take(&mut is_value_text) {
            return ArgumentKind::Text;
        }
        if argument == "--" && !are_options_over {
            are_options_over = true;
            return ArgumentKind::Text;
        }
        if argument.starts_with('-') && argument.len() > 1 && !are_options_over {
            is_value_text = is_text_option(argument) && !argument.contains('=');
            return if is_text_option(argument) {
                ArgumentKind::Text
            } else {
                ArgumentKind::Unknown
            };
        }
        match operands {
            OperandKind::Paths => ArgumentKind::Path,
            OperandKind::Text => ArgumentKind::Text,
            OperandKind::TextThenPaths if std::mem::take(&mut is_first) => ArgumentKind::Text,
            OperandKind::TextThenPaths => ArgumentKind::Path,
            OperandKind::Unknown => ArgumentKind::Unknown,
        }
    };
    arguments.iter().map(kind).collect()
}
