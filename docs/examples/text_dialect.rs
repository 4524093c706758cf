#![expect(clippy::print_stdout, reason = "an example: it prints the conversation")]
//! An agent for a model that writes its calls and its thinking as text, in a dialect of its family: what it
//! reads of itself in the next turn is what it wrote.

use std::error::Error;

use forgeline::{llm::demo::DemoProvider, prelude::*};

/// Answers `prompt`, and returns the conversation.
async fn converse(
    provider: impl Provider + 'static,
    prompt: &str,
) -> Result<Transcript, Box<dyn Error>> {
    let agent = Agent::builder(provider)
        .system("Think first.")
        .tool(Calculator)
        .call_mode(CallMode::Text)
        .build()?;
    let conversation = agent.conversation();
    conversation.run(prompt).await?;
    Ok(conversation.transcript())
}

/// Returns the thinking that the conversation keeps.
fn thoughts(conversation: &Transcript) -> Vec<&str> {
    let parts = conversation.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(
            |part| if let Part::Thinking { text, .. } = part { Some(text.as_str()) } else { None },
        )
        .collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let conversation = converse(DemoProvider::new(), "What is 6 * 7?").await?;
    for message in &conversation {
        println!("{:?}: {}", message.role, message.text());
    }
    println!("It thought: {:?}", thoughts(&conversation));
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};

    use super::*;

    const CALL: &str =
        r#"<tool_call>{"name": "calculator", "arguments": {"expression": "6 * 7"}}</tool_call>"#;

    #[tokio::test]
    async fn calls_and_thinking_are_read_from_the_text_and_kept() {
        let first = ScriptedTurn::new().text("<think>I calculate.</think>").text(CALL);
        let provider = ScriptedProvider::new([first, ScriptedTurn::new().text("It is 42.")]);
        let conversation = converse(provider.clone(), "What is 6 * 7?").await.unwrap();
        assert_eq!(thoughts(&conversation), ["I calculate."]);
        let asked = provider.requests().pop().unwrap().messages;
        let told: String = asked.iter().map(|message| message.text()).collect();
        assert!(told.contains(CALL) && told.contains("42"), "{told}");
        assert_eq!(conversation.messages().last().unwrap().text(), "It is 42.");
    }

    #[tokio::test]
    async fn the_demo_model_thinks_and_calls_in_text() {
        let conversation = converse(DemoProvider::new(), "What is 6 * 7?").await.unwrap();
        assert!(!thoughts(&conversation).is_empty());
        assert!(conversation.messages().last().unwrap().text().contains("42"));
    }
}
