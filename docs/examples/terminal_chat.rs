#![expect(clippy::print_stdout, reason = "an example: it talks to a terminal")]
//! A chat in the terminal: the answer streams, each change of a file is shown and approved by y or n, and Ctrl-C stops the answer, not the program.

use std::{error::Error, io::Write};

use forgeline::{llm::anthropic::Anthropic, prelude::*};
use tokio::{select, sync::mpsc};

/// Returns an agent that reads the files below `root`, and changes them if the user approves.
fn assistant(provider: impl Provider + 'static, root: &str) -> Result<Agent, Box<dyn Error>> {
    let tools = FileTools::new(root)?.into_changing_tools();
    Ok(Agent::builder(provider).tools(tools).build()?)
}

/// Returns text without what a terminal obeys: control characters, and what turns the direction of writing.
fn plain(text: &str) -> String {
    let is_turn = |it| matches!(it, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|it| "\n\t".contains(*it) || !it.is_control() && !is_turn(*it)).collect()
}

/// Answers the user's lines until there are no more; a message to `stop` ends the answer in progress.
async fn chat(
    agent: &Agent,
    mut lines: mpsc::Receiver<String>,
    mut stop: mpsc::Receiver<()>,
    mut out: impl Write,
) -> Result<(), Box<dyn Error>> {
    let conversation = agent.conversation();
    while let Some(line) = lines.recv().await {
        let mut run = conversation.run_stream(line);
        // Ctrl-C between two answers stops nothing.
        while stop.try_recv().is_ok() {}
        loop {
            let envelope = select! {
                envelope = run.next() => envelope,
                Some(()) = stop.recv() => { run.cancel(); continue }
            };
            let Some(envelope) = envelope else { break };
            write!(out, "{}", plain(envelope.event.text()))?;
            out.flush()?;
            let AgentEvent::ToolApprovalRequest(asked) = envelope.event else { continue };
            let shown = asked.preview.as_ref().map_or(asked.arguments.as_str(), |it| &it.text);
            write!(out, "\n{}\n{}\nAllow it? [y/N] ", asked.tool_name, plain(shown))?;
            out.flush()?;
            let answer = select! {
                biased;
                Some(()) = stop.recv() => { run.cancel(); continue }
                line = lines.recv() => line.unwrap_or_default(),
            };
            let decision = match answer.trim() {
                "y" | "Y" => Decision::Grant,
                _ => Decision::reject("the user says no"),
            };
            run.approvals().answer(&asked.approval_id, decision)?;
        }
        match run.outcome().await {
            Ok(_) => writeln!(out)?,
            Err(error) => writeln!(out, "\n[{}]", plain(&error.to_string()))?,
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = assistant(Anthropic::from_env()?, ".")?;
    let ((typed, lines), (pressed, stop)) = (mpsc::channel(16), mpsc::channel(1));
    std::thread::spawn(move || {
        let mut lines = std::io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| typed.blocking_send(line))
    });
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            pressed.try_send(()).ok();
        }
    });
    println!("Ask about the files here. Ctrl-D ends the chat.");
    chat(&agent, lines, stop, std::io::stdout()).await
}

#[cfg(test)]
mod tests {
    use std::{
        env, fs, io,
        sync::{Arc, Mutex},
    };

    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    /// A terminal whose user presses Ctrl-C when this word appears.
    struct Screen {
        text: Arc<Mutex<String>>,
        word: &'static str,
        press: mpsc::Sender<()>,
    }

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let piece = str::from_utf8(bytes).unwrap();
            self.text.lock().unwrap().push_str(piece);
            if piece.contains(self.word) {
                self.press.try_send(()).ok();
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns what a user sees who types these lines, and presses Ctrl-C at a word; and the text of the file afterwards.
    async fn seen(
        turns: impl IntoIterator<Item = ScriptedTurn>,
        typed: &[&str],
        word: &'static str,
    ) -> (String, String) {
        let name = format!("forgeline-chat-{}-{word}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("notes.md"), "Buy tea.\n").unwrap();
        let agent = assistant(ScriptedProvider::new(turns), folder.to_str().unwrap()).unwrap();
        let ((sender, lines), (press, stop)) = (mpsc::channel(16), mpsc::channel(1));
        for line in typed {
            sender.send((*line).to_owned()).await.unwrap();
        }
        drop(sender);
        let text = Arc::new(Mutex::new(String::new()));
        let screen = Screen { text: Arc::clone(&text), word, press };
        chat(&agent, lines, stop, screen).await.unwrap();
        let notes = fs::read_to_string(folder.join("notes.md")).unwrap();
        fs::remove_dir_all(folder).unwrap();
        let text = text.lock().unwrap().clone();
        (text, notes)
    }

    fn edit() -> ScriptedTurn {
        let arguments = json!({ "path": "notes.md", "old": "tea", "new": "salt" });
        ScriptedTurn::new().text("I change it.").call("files.edit", arguments)
    }

    #[tokio::test]
    async fn a_change_is_shown_and_made_when_the_user_says_yes() {
        for (answer, want) in [("y", "Buy salt.\n"), ("n", "Buy tea.\n"), ("what?", "Buy tea.\n")] {
            let turns = [edit(), ScriptedTurn::new().text("So be it.")];
            let (text, notes) = seen(turns, &["Salt, not tea.", answer], "never").await;
            assert!(text.contains("-Buy tea.\n+Buy salt.\n"), "{text}");
            assert!(text.ends_with("Allow it? [y/N] So be it.\n"), "{text}");
            assert_eq!(notes, want, "{answer}");
        }
    }

    #[tokio::test]
    async fn a_model_moves_no_cursor() {
        let turn = ScriptedTurn::new().text("Done.\u{1b}[2J\u{202e}").text("\r\tYes.");
        let (text, _) = seen([turn], &["Clear the screen."], "never-cursor").await;
        assert_eq!(text, "Done.[2J\tYes.\n");
    }

    #[tokio::test]
    async fn ctrl_c_stops_the_answer_and_the_chat_goes_on() {
        let story = ScriptedTurn::new().text("Once upon").hang();
        let turns = [story, ScriptedTurn::new().text("Of course.")];
        let (text, _) = seen(turns, &["Tell a story.", "Shorter, please."], "Once").await;
        assert!(text.starts_with("Once upon\n[") && text.ends_with("]\nOf course.\n"), "{text}");
    }

    #[tokio::test]
    async fn ctrl_c_at_a_question_changes_nothing() {
        let turns = [edit(), ScriptedTurn::new().text("Of course.")];
        let (text, notes) = seen(turns, &["Salt, not tea."], "Allow").await;
        assert!(text.contains("[y/N]") && !text.contains("Of course."), "{text}");
        assert_eq!(notes, "Buy tea.\n");
    }
}
