//! The source of the user's lines: an editor on a terminal, else plain stdin.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::{Path, PathBuf},
    thread,
};

use anyhow::Context as _;
use rustyline::{Config, Editor, error::ReadlineError, history::FileHistory};
use tokio::{runtime::Runtime, sync::mpsc};

use super::search::SearchWatcher;
use crate::{
    exit::{UsageResult as _, note},
    interrupt::InterruptHandler,
};

/// A line editor that knows whether the user searches the history.
type LineEditor = Editor<SearchWatcher, FileHistory>;

/// An action of the user.
#[derive(Debug)]
pub(super) enum ChatLine {
    /// Wrote a line.
    Text(String),
    /// Has nothing more to say.
    End,
    /// Stopped the program.
    Interrupted,
}

/// A source of lines.
pub(super) enum LineSource {
    /// A terminal with line editing.
    Editor { editor: Box<LineEditor>, history: Option<PathBuf> },
    /// Lines of a pipe, read by a thread so that Ctrl-C is served meanwhile.
    Pipe(mpsc::Receiver<io::Result<String>>),
}

impl LineSource {
    /// Lines of stdin; what is typed is kept in `history`.
    pub(super) fn new(history: Option<&Path>) -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe(read_pipe()));
        }
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = LineEditor::with_config(config).context("cannot use the terminal")?;
        editor.set_helper(Some(SearchWatcher::default()));
        if let Some(path) = history.filter(|path| path.exists()) {
            editor.load_history(path).usage_context(|| {
                format!("cannot read the history file {}; name another file", path.display())
            })?;
        }
        Ok(Self::Editor { editor: Box::new(editor), history: history.map(Path::to_owned) })
    }

    /// Returns `true` for a terminal.
    pub(super) fn is_editor(&self) -> bool {
        matches!(self, Self::Editor { .. })
    }

    /// Adds a line that was read elsewhere to the history.
    pub(super) fn remember(&mut self, line: &str) -> anyhow::Result<()> {
        let Self::Editor { editor, history } = self else { return Ok(()) };
        if editor.add_history_entry(line)?
            && let Some(path) = history
        {
            editor.append_history(path).context("cannot write the history file")?;
        }
        Ok(())
    }

    /// Waits for the next line, which may begin with `draft`; `was_stopped` when Ctrl-C has just ended
    /// an answer.
    pub(super) fn next(
        &mut self,
        runtime: &Runtime,
        interrupts: &InterruptHandler,
        was_stopped: bool,
        draft: String,
    ) -> anyhow::Result<ChatLine> {
        match self {
            Self::Editor { editor, history } => {
                let line = edit(editor, was_stopped, draft)?;
                if let (ChatLine::Text(_), Some(path)) = (&line, history) {
                    editor.append_history(path).context("cannot write the history file")?;
                }
                Ok(line)
            }
            Self::Pipe(lines) => {
                let stop = interrupts.begin(false);
                let line = runtime.block_on(async {
                    tokio::select! {
                        line = lines.recv() => line,
                        () = stop.stopped() => None,
                    }
                });
                if stop.end() {
                    return Ok(ChatLine::Interrupted);
                }
                let line = line.transpose().context("cannot read stdin")?;
                Ok(line.map_or(ChatLine::End, ChatLine::Text))
            }
        }
    }
}

/// Lets the user write a line. Ctrl-C leaves a search of the history, and the line as it was before;
/// it ends the chat when it is the second in a row: behind one that stopped an answer, too, as whoever
/// presses twice cannot know whether the answer has ended in between.
fn edit(editor: &mut LineEditor, was_stopped: bool, mut line: String) -> anyhow::Result<ChatLine> {
    let mut warned = false;
    loop {
        match editor.readline_with_initial("› ", (&std::mem::take(&mut line), "")) {
            Ok(line) => return Ok(ChatLine::Text(line.replace("\\\n", "\n"))),
            Err(ReadlineError::Eof) => return Ok(ChatLine::End),
            Err(ReadlineError::Interrupted) => {
                let drawn = editor.helper_mut().map(SearchWatcher::take).unwrap_or_default();
                if drawn.searches {
                    line = drawn.line;
                } else if warned {
                    return Ok(ChatLine::End);
                } else if was_stopped && drawn.line.is_empty() {
                    return Ok(ChatLine::Interrupted);
                } else {
                    warned = true;
                    note("Press Ctrl-C again, or Ctrl-D, to quit.");
                }
            }
            Err(error) => return Err(error).context("cannot read from the terminal"),
        }
    }
}

fn read_pipe() -> mpsc::Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            let item = match stdin.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(error) => Err(error),
            };
            let failed = item.is_err();
            if sender.blocking_send(item).is_err() || failed {
                return;
            }
        }
    });
    receiver
}
