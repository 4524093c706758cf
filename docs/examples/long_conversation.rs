#![expect(clippy::print_stdout, reason = "an example: it prints what happens")]
//! A conversation that is longer than the model may read: its beginning is summed up, and left out where that fails.

use std::error::Error;

use forgeline::{agent::notice::Notice, llm::demo::DemoProvider, prelude::*};

/// The parts of a conversation of so many turns.
#[derive(Debug, Default, PartialEq)]
struct Told {
    summaries: usize,
    trims: usize,
    /// The messages that the conversation keeps.
    messages: usize,
    last: String,
}

async fn talk(turns: u32, summarize: bool) -> Result<Told, Box<dyn Error>> {
    let mut builder = Agent::builder(DemoProvider::new())
        .system("Answer briefly.")
        .tool(Calculator)
        .max_context_tokens(8_000);
    if summarize {
        builder = builder.summarize_at(75);
    }
    let (conversation, mut told) = (builder.build()?.conversation(), Told::default());
    for turn in 0..turns {
        let mut events = conversation.run_stream(format!("What is {turn} * 7?"));
        while let Some(envelope) = events.next().await {
            match Notice::read(&envelope.event) {
                Some(Notice::ContextSummarized(_)) => told.summaries += 1,
                Some(Notice::ContextTrimmed(_)) => told.trims += 1,
                _ => {}
            }
        }
        told.last = events.outcome().await?.text;
    }
    told.messages = conversation.transcript().len();
    Ok(told)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    for (turns, summarize) in [(5_000, false), (300, true)] {
        let Told { summaries, trims, messages, last } = talk(turns, summarize).await?;
        println!("{turns} turns in 8000 tokens: {summaries} summaries, {trims} times left out");
        println!("kept: {messages} messages; the last answer: {last}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn five_thousand_turns_fit_and_are_kept() {
        let told = talk(5_000, false).await.unwrap();
        assert_eq!((told.messages, told.summaries), (20_000, 0));
        assert!((50..1_000).contains(&told.trims), "{told:?}");
        assert!(told.last.contains("34993"), "{told:?}");
    }

    #[tokio::test]
    async fn the_beginning_is_summed_up() {
        let told = talk(300, true).await.unwrap();
        assert_eq!(told.messages, 1_200);
        assert!(told.summaries > 2, "{told:?}");
        assert!(told.last.contains("2093"), "{told:?}");
    }
}
