//! A conversation is taken back to what it was before a run.

use std::sync::Arc;

use super::{DefaultAgent, journal::Record};
use crate::types::{AgentError, Message, MessageRole};

impl DefaultAgent {
    /// Takes the last run out of the conversation, with all that was said in it, and returns the message with which it began; `None`
    /// when there was none. Waits for the current run.
    ///
    /// The next run goes on as if it had not been: the model sees nothing of it. What its tools did stays done, and permissions that
    /// people gave for the session stay given, and those that text from outside took back stay taken. With a [journal](super::AgentBuilder::journal) this is written down. Of a
    /// conversation that the agent was built with and in which no run has begun, the messages from the last one of the user on are taken out; of a
    /// [memory](super::memory::Memory) that has dropped the beginning of the last run, nothing.
    ///
    /// # Errors
    ///
    /// As for [`clear`](Self::clear); the conversation stays.
    ///
    /// # Cancel safety
    ///
    /// A wait that is dropped has changed nothing, or the journal alone, as has a journal that fails too late; call it again.
    ///
    /// # Examples
    ///
    /// An answer that is given again:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{DefaultAgent, tools::Calculator}, llm::demo::DemoProvider};
    ///
    /// let agent = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
    /// agent.run("What is 6 * 7?").await?;
    /// let said = agent.rewind().await?.ok_or("no run has begun")?;
    /// assert!(agent.transcript().is_empty());
    /// let again = agent.run((*said).clone()).await?;
    /// assert!(again.text.contains("42"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn rewind(&self) -> Result<Option<Arc<Message>>, AgentError> {
        self.rewind_to(|inputs| inputs.len().checked_sub(1)).await
    }

    /// Takes the conversation back to before one of the messages with which its runs began, which is chosen by their texts, and returns
    /// that message.
    pub(crate) async fn rewind_to(
        &self,
        choose: impl FnOnce(&[String]) -> Option<usize> + Send,
    ) -> Result<Option<Arc<Message>>, AgentError> {
        let mut turn = self.0.take_turn().await?;
        let transcript = self.transcript();
        let messages = transcript.messages();
        let places = self.0.inputs.places(messages);
        let of_user = || messages.iter().rposition(|message| message.role == MessageRole::User);
        // In a conversation that the agent was built with, the user's last message is all that is known.
        let given = of_user().filter(|_| self.0.inputs.is_empty());
        let begins = places.iter().map(|(_, at)| *at).chain(given);
        let inputs: Vec<_> =
            begins.filter_map(|at| Some((at, Arc::clone(messages.get(at)?)))).collect();
        let texts: Vec<_> = inputs.iter().map(|(_, input)| input.text()).collect();
        let chosen = choose(&texts);
        let Some((at, (place, input))) = chosen.and_then(|at| Some((at, inputs.get(at)?))) else {
            return Ok(None);
        };
        if let (Some(writer), Some((run, _))) = (&mut *turn, places.get(at)) {
            writer.ready().await?;
            writer.append(&Record::<()>::Rewound { run: run.clone() }).await?;
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
}
