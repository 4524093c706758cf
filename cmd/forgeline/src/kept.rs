//! `--continue`: the last conversation, in a file of the user's own.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
};

use clap::Args;
use forgeline::types::Transcript;
use serde::{Deserialize, Serialize};

use crate::{
    exit::{UsageResult as _, note, usage},
    prompt::read_text,
};

/// The form of the file.
const VERSION: u32 = 1;

/// Whether the conversation goes on, and whether it is kept, as flags.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, one field each")]
pub struct KeepArgs {
    /// Continue the last conversation
    #[arg(short = 'c', long = "continue")]
    goes_on: bool,
    /// Do not keep the conversation for --continue
    #[arg(long)]
    no_keep: bool,
}

/// The file that keeps the last conversation.
#[derive(Debug)]
pub struct ConversationFile {
    path: Option<PathBuf>,
    /// `true` when the user should know of a failure.
    tells: bool,
}

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
struct SavedConversation {
    version: u32,
    messages: Transcript,
}

impl KeepArgs {
    /// Returns the conversation to go on with, and where it is kept; `tells` asks for a word when it
    /// cannot be.
    ///
    /// # Errors
    ///
    /// A usage error when there is nothing to go on with.
    pub fn open(&self, tells: bool) -> anyhow::Result<(Transcript, ConversationFile)> {
        let path = path(|name| env::var_os(name).map(PathBuf::from));
        let messages = match (&path, self.goes_on) {
            (_, false) => Transcript::default(),
            (Some(path), true) => load(path)?,
            (None, true) => {
                return Err(usage("--continue needs HOME or XDG_STATE_HOME; set one of them"));
            }
        };
        let path = path.filter(|_| !self.no_keep);
        Ok((messages, ConversationFile { path, tells: tells || self.goes_on }))
    }
}

impl ConversationFile {
    /// Keeps a conversation. A failure does not fail the run.
    pub fn keep(&self, messages: Transcript) {
        let Some(path) = &self.path else { return };
        if let Err(error) = save(path, messages)
            && self.tells
        {
            note(&format!("cannot save the conversation: {}: {error}", path.display()));
        }
    }
}

/// Returns the file in the user's folder of states; `None` where there is none.
fn path(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .or_else(|| absolute("LOCALAPPDATA"))?;
    Some(state.join("forgeline").join("conversation.json"))
}

fn load(path: &Path) -> anyhow::Result<Transcript> {
    let shown = path.display();
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(usage("there is no conversation to continue; omit --continue"));
        }
        Err(error) => return Err(error).usage_context(|| format!("cannot read {shown}")),
    };
    let advice = || format!("{shown} is not a conversation of this version; omit --continue");
    let kept: SavedConversation =
        serde_json::from_str(&read_text(file, &shown.to_string())?).usage_context(advice)?;
    if kept.version == VERSION { Ok(kept.messages) } else { Err(usage(advice())) }
}

/// Writes beside the file and renames, so that there is always a whole one.
fn save(path: &Path, messages: Transcript) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(folder)?;
    let beside = path.with_extension(format!("{}.new", process::id()));
    drop(fs::remove_file(&beside));
    let json = serde_json::to_vec(&SavedConversation { version: VERSION, messages })?;
    let written = options.open(&beside).and_then(|mut file| file.write_all(&json));
    let renamed = written.and_then(|()| fs::rename(&beside, path));
    if renamed.is_err() {
        drop(fs::remove_file(&beside));
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_in_the_folder_of_states() {
        let found = |set: &'static [(&str, &str)]| {
            path(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        let file = |text: &str| Some(PathBuf::from(text));
        let set: &[_] = &[("XDG_STATE_HOME", "/s"), ("HOME", "/h")];
        assert_eq!(found(set), file("/s/forgeline/conversation.json"));
        let set: &[_] = &[("XDG_STATE_HOME", "relative"), ("HOME", "/h")];
        assert_eq!(found(set), file("/h/.local/state/forgeline/conversation.json"));
        assert_eq!(found(&[]), None);
    }
}
