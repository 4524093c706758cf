//! The source of the user's lines: an editor on a terminal, else plain stdin.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::{Path, PathBuf},
    thread,
};

use anyhow::Context as _;
use rustyline::{Config, DefaultEditor, error::ReadlineError};
use tokio::{runtime::Runtime, signal, sync::mpsc};

use crate::exit::{UsageResult as _, note};

/// An action of the user.
#[derive(Debug)]
pub(super) enum Line {
    /// Wrote a line.
    Text(String),
    /// Has nothing more to say.
    End,
    /// Stopped the program.
    Interrupted,
}

/// A source of lines.
pub(super) enum Lines {
    /// A terminal with line editing.
    Editor { editor: Box<DefaultEditor>, history: Option<PathBuf> },
    /// Lines of a pipe, read by a thread so that Ctrl-C is served meanwhile.
    Pipe(mpsc::Receiver<io::Result<String>>),
}

impl Lines {
    /// Lines of stdin; what is typed is kept in `history`.
    pub(super) fn new(history: Option<&Path>) -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe(read_pipe()));
        }
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = DefaultEditor::with_config(config).context("cannot use the terminal")?;
        if let Some(path) = history.filter(|path| path.exists()) {
            editor.load_history(path).usage_context(|| {
                format!("cannot read the history {}; name another file", path.display())
            })?;
        }
        Ok(Self::Editor { editor: Box::new(editor), history: history.map(Path::to_owned) })
    }

    /// Waits for the next line.
    pub(super) fn next(&mut self, runtime: &Runtime) -> anyhow::Result<Line> {
        match self {
            Self::Editor { editor, history } => {
                let line = edit(editor)?;
                if let (Line::Text(_), Some(path)) = (&line, history) {
                    editor.append_history(path).context("cannot write the history")?;
                }
                Ok(line)
            }
            Self::Pipe(lines) => runtime.block_on(async {
                tokio::select! {
                    line = lines.recv() => match line.transpose().context("cannot read stdin")? {
                        Some(line) => Ok(Line::Text(line)),
                        None => Ok(Line::End),
                    },
                    stop = signal::ctrl_c() => {
                        stop.context("cannot listen for Ctrl-C")?;
                        Ok(Line::Interrupted)
                    }
                }
            }),
        }
    }
}

/// Lets the user write a line; the second Ctrl-C in a row ends the chat.
fn edit(editor: &mut DefaultEditor) -> anyhow::Result<Line> {
    let mut warned = false;
    loop {
        match editor.readline("› ") {
            Ok(line) => return Ok(Line::Text(line)),
            Err(ReadlineError::Eof) => return Ok(Line::End),
            Err(ReadlineError::Interrupted) if warned => return Ok(Line::End),
            Err(ReadlineError::Interrupted) => {
                warned = true;
                note("Ctrl-C again, or Ctrl-D, leaves.");
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
