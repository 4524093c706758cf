//! Rewinding of a conversation to its state before a run.

use std::sync::Arc;

use super::conversation::Conversation;
use crate::journal::{JournalStep, Record};
use forgeline_types::{AgentError, Message, MessageRole};

impl Conversation {
    /// Removes the last run from the conversation, with all its messages, and returns the message with which it began; `None` if there was none. Waits for
    /// the current run.
    ///
    /// The next run continues as if the removed run had not happened: the model does not see it. Effects of its tools remain, permissions granted for
    /// the session remain granted, and permissions revoked because of text from outside remain revoked. The rewind is written to the
    /// [journal](Self::with_journal), if any. In a conversation that the agent was built with and in which no run has begun, the messages from
    /// the last user message on are removed; if the [memory](crate::memory::Memory) has dropped the beginning of the last run, nothing is.
    ///
    /// # Errors
    ///
    /// The same as for [`clear`](Self::clear); the conversation is then unchanged.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, either nothing has changed or only the journal, as with a journal that fails too late; call it again.
    ///
    /// # Examples
    ///
    /// Regenerating an answer:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{DefaultAgent, tools::Calculator}, llm::demo::DemoProvider};
    ///
    /// let agent = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
    /// let conversation = agent.conversation();
    /// conversation.run("What is 6 * 7?").await?;
    /// let said = conversation.rewind().await?.ok_or("no run has begun")?;
    /// assert!(conversation.transcript().is_empty());
    /// let again = conversation.run((*said).clone()).await?;
    /// assert!(again.text.contains("42"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn rewind(&self) -> Result<Option<Arc<Message>>, AgentError> {
        self.rewind_to(|inputs| inputs.len().checked_sub(1)).await
    }

    /// Takes the conversation back to before one of the messages with which its runs started,
    /// chosen by their texts, and returns that message.
    #[doc(hidden)]
    pub async fn rewind_to(
        &self,
        choose: impl FnOnce(&[String]) -> Option<usize> + Send,
    ) -> Result<Option<Arc<Message>>, AgentError> {
        let mut turn = self.0.take_turn().await?;
        let transcript = self.transcript();
        let messages = transcript.messages();
        let places = self.0.inputs.places(messages);
        let inputs = self.inputs(messages);
        let texts: Vec<_> = inputs.iter().map(|(_, input)| input.text()).collect();
        let chosen = choose(&texts);
        let Some((at, (place, input))) = chosen.and_then(|at| Some((at, inputs.get(at)?))) else {
            return Ok(None);
        };
        if let (Some(writer), Some((run, _))) = (&mut *turn, places.get(at)) {
            self.0.begin_entry(writer).await?;
            let step = JournalStep::RunRewound { run_id: run.clone() };
            writer.append(step, &Record::<()>::Rewound { run: run.clone() }, &[]).await?;
        }
        let mut memory = self.0.memory.lock();
        memory.clear();
        for message in messages.iter().take(*place) {
            memory.add(Arc::clone(message));
        }
        drop(memory);
        let left = places.iter().zip(&inputs).take(at);
        self.0.inputs.set(left.map(|((run, _), (_, input))| (run, input)));
        self.0.take_back_window(*place);
        Ok(Some(Arc::clone(input)))
    }

    /// Returns the texts of the messages with which the conversation's runs started, without waiting.
    #[doc(hidden)]
    #[must_use]
    pub fn begun(&self) -> Vec<String> {
        let transcript = self.transcript();
        let inputs = self.inputs(transcript.messages());
        inputs.iter().map(|(_, input)| input.text()).collect()
    }

    /// Returns the messages with which runs started, and their places.
    fn inputs(&self, messages: &[Arc<Message>]) -> Vec<(usize, Arc<Message>)> {
        let of_user = || messages.iter().rposition(|message| message.role == MessageRole::User);
        // In a conversation that the agent was built with, only the user's last message is known.
        let given = of_user().filter(|_| self.0.inputs.is_empty());
        let places = self.0.inputs.places(messages);
        let begins = places.iter().map(|(_, at)| *at).chain(given);
        begins.filter_map(|at| Some((at, Arc::clone(messages.get(at)?)))).collect()
    }
}
