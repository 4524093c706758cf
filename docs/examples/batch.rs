#![expect(clippy::print_stdout, reason = "an example: it prints the answers")]
//! Five hundred prompts with a limiter: twenty at a time and two hundred a second. A prompt that fails does not stop the others.

use std::error::Error;

use forgeline::{llm::openai::OpenAi, prelude::*};
use futures_util::StreamExt as _;

/// Returns an answer to each prompt, in the order of the prompts.
async fn answer_all(
    provider: impl Provider + 'static,
    prompts: Vec<String>,
) -> Vec<Result<String, ProviderError>> {
    let limited = Limited::new(provider).concurrent(20).per_second(200);
    let requests = prompts.into_iter().map(|prompt| Request::prompt(prompt).max_tokens(200));
    let mut answers: Vec<_> = limited.complete_all(requests).collect().await;
    // They come in the order in which they were complete.
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| Ok(answer?.text)).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompts = (1..=500).map(|number| format!("Write the number {number} in words.")).collect();
    for (number, answer) in answer_all(OpenAi::from_env()?, prompts).await.iter().enumerate() {
        match answer {
            Ok(text) => println!("{}\t{text}", number + 1),
            Err(error) => println!("{}\tfailed: {error}", number + 1),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use forgeline::{
        llm::StatusError,
        testing::{ScriptedProvider, ScriptedTurn},
        types::ErrorCode,
    };
    use tokio::time::{Instant, timeout};

    use super::*;

    fn prompts() -> Vec<String> {
        (0..500).map(|number| number.to_string()).collect()
    }

    /// Answers each prompt with itself, and refuses number 7.
    fn repeating() -> ScriptedProvider {
        ScriptedProvider::from_fn(|request: &Request| {
            let prompt: String = request.messages.iter().map(|message| message.text()).collect();
            if prompt == "7" {
                let error = StatusError::new(400, ErrorCode::InvalidRequest, "an unlucky number");
                return ScriptedTurn::refuse(error.into());
            }
            ScriptedTurn::new().text(prompt)
        })
    }

    #[tokio::test(start_paused = true)]
    async fn each_prompt_has_its_answer_and_a_failure_stops_no_other() {
        let began = Instant::now();
        let answers = answer_all(repeating(), prompts()).await;
        for (number, answer) in answers.iter().enumerate() {
            match answer {
                Ok(text) => assert_eq!(*text, number.to_string()),
                Err(error) => assert!(number == 7 && error.to_string().contains("unlucky")),
            }
        }
        assert_eq!((answers.len(), answers.iter().filter(|it| it.is_err()).count()), (500, 1));
        // The first begins at once, and then one every 5 ms.
        assert!(began.elapsed() >= Duration::from_millis(499 * 5), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn twenty_are_asked_at_a_time() {
        let provider = ScriptedProvider::from_fn(|_: &Request| ScriptedTurn::new().hang());
        let mut work = pin!(answer_all(provider.clone(), prompts()));
        timeout(Duration::from_secs(2), &mut work).await.unwrap_err();
        assert_eq!((provider.requests().len(), provider.open_streams()), (20, 20));
    }
}
