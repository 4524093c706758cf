#![expect(clippy::print_stdout, reason = "an example: it prints the answer")]
//! An agent, and how it is tested offline: with answers that the test writes, with failures, and with a session that was recorded from a real server.

use std::error::Error;

use forgeline::{llm::openai::OpenAi, prelude::*};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Weather {
    /// The name of the city.
    city: String,
}

/// Returns the agent that is tested.
fn weather_agent(provider: impl Provider + 'static) -> Result<Agent, BuildError> {
    let weather = tool_fn("get_weather", "Tells the weather.", async |_, it: Weather| {
        match it.city.as_str() {
            "Paris" => Ok("sunny, 21 °C"),
            _ => Err(ToolError::failed(format!("there is no station in {}", it.city))),
        }
    });
    Agent::builder(provider).system("Tell the weather.").tool(weather).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = weather_agent(OpenAi::from_env()?)?;
    println!("{}", agent.run("How is the weather in Paris?").await?.text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use axum::{
        Router,
        http::{HeaderMap, HeaderValue, header::CONTENT_TYPE},
        routing::post,
    };
    use forgeline::{
        llm::{ProviderError, Request, StatusError, transport::HttpTransport},
        testing::{
            ScriptedProvider, ScriptedTurn,
            record::{Recording, RecordingTransport},
            replay::{ChunkSizes, ReplayTransport},
        },
        types::ErrorCode,
    };
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    fn weather(city: &str) -> ScriptedTurn {
        ScriptedTurn::new().call("get_weather", json!({ "city": city }))
    }

    /// Answers that the test writes, and what the model was told.
    #[tokio::test]
    async fn the_model_reads_what_the_tool_says() {
        let turns = [weather("Paris"), ScriptedTurn::new().text("Sunny.")];
        let provider = ScriptedProvider::new(turns);
        let outcome = weather_agent(provider.clone()).unwrap().run("Paris?").await.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.turns), ("Sunny.", 2));
        let requests = provider.requests();
        assert_eq!(requests[0].system.as_deref(), Some("Tell the weather."));
        let result = requests[1].messages.iter().flat_map(|it| it.tool_results()).next().unwrap();
        assert_eq!((result.content.as_str(), result.is_error), ("sunny, 21 °C", false));
    }

    /// An answer that follows from the request.
    #[tokio::test]
    async fn a_tool_that_fails_is_told_to_the_model() {
        let provider = ScriptedProvider::from_fn(|request: &Request| {
            match request.messages.iter().flat_map(|it| it.tool_results()).last() {
                Some(result) if result.is_error => ScriptedTurn::new().text("I do not know."),
                Some(_) => ScriptedTurn::new().text("I know."),
                None => weather("Atlantis"),
            }
        });
        let outcome = weather_agent(provider).unwrap().run("Atlantis?").await.unwrap();
        assert_eq!(outcome.text, "I do not know.");
    }

    /// A server that fails.
    #[tokio::test]
    async fn a_refused_key_is_an_error_that_says_so() {
        let error = StatusError::new(401, ErrorCode::Auth, "invalid key");
        let refused = ScriptedTurn::refuse(ProviderError::from(error));
        let agent = weather_agent(ScriptedProvider::new([refused])).unwrap();
        let error = agent.run("Paris?").await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::Auth);
        assert!(error.to_string().contains("check the API key"), "{error}");
    }

    /// Answers as a server of Chat Completions does.
    async fn chat_server(body: String) -> (HeaderMap, String) {
        let chunk = if body.contains("\"tool\"") {
            json!({ "delta": { "content": "Sunny." }, "finish_reason": "stop" })
        } else {
            let function = json!({ "name": "get_weather", "arguments": "{\"city\":\"Paris\"}" });
            let call =
                json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
            json!({ "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" })
        };
        let kind = HeaderValue::from_static("text/event-stream");
        let body = format!("data: {}\n\ndata: [DONE]\n\n", json!({ "choices": [chunk] }));
        (HeaderMap::from_iter([(CONTENT_TYPE, kind)]), body)
    }

    /// A session that is recorded once, and then replayed without its server.
    #[tokio::test]
    async fn a_recorded_session_is_replayed_and_a_changed_prompt_makes_it_stale() {
        let app = Router::new().route("/v1/chat/completions", post(chat_server));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(axum::serve(listener, app).into_future());
        let file = env::temp_dir().join(format!("forgeline-session-{}.jsonl", process::id()));

        let tape = RecordingTransport::overwrite(&file, HttpTransport::new().unwrap());
        let tape = tape.unwrap();
        let openai =
            || OpenAi::builder().base_url(address.as_str()).model("some-model").api_key("s3cret");
        let recorded = openai().transport(tape.clone()).build().unwrap();
        let recorded = weather_agent(recorded).unwrap().run("How is it in Paris?").await.unwrap();
        assert_eq!((tape.flush().unwrap(), recorded.text.as_str()), (2, "Sunny."));
        server.abort();

        let session = Recording::load(&file).unwrap();
        fs::remove_file(file).unwrap();
        let replay =
            |sizes| openai().transport(ReplayTransport::new(session.clone()).chunks(sizes));
        for bytes in 1..40 {
            let provider = replay(ChunkSizes::Bytes(bytes)).build().unwrap();
            let agent = weather_agent(provider).unwrap();
            let replayed = agent.run("How is it in Paris?").await.unwrap();
            assert_eq!(replayed.messages, recorded.messages, "pieces of {bytes} bytes");
        }
        let agent = weather_agent(replay(ChunkSizes::Bytes(7)).build().unwrap()).unwrap();
        let error = agent.run("How is it in Rome?").await.unwrap_err();
        assert!(error.to_string().contains("the recording is stale"), "{error}");
    }
}
