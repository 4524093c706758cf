//! `forgeline parse --batch`: many texts in one process.

use std::io::{BufRead, Write};

use anyhow::Context as _;
use forgeline::types::{AgentError, Completion, ErrorCode, Text};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    exit::Exit,
    input::ChunkCuts,
    output::batch_line,
    parse::{TextArgs, parse_chunks},
    tools_file::tool_schemas,
};

/// The defaults of a line's members.
#[derive(Debug)]
pub struct BatchDefaults {
    /// Dialects, prompt tail and finish.
    pub text: TextArgs,
    /// Names and schemas of the known tools.
    pub schemas: Vec<(Text, Value)>,
    /// The cuts of the texts.
    pub cuts: ChunkCuts,
}

/// One line of the input.
#[derive(Debug, Deserialize)]
struct BatchLine {
    text: String,
    model: Option<String>,
    dialect: Option<String>,
    thinking: Option<String>,
    chunk_bytes: Option<usize>,
    chunks: Option<Vec<usize>>,
    tools: Option<Value>,
    prompt_tail: Option<String>,
    finish: Option<String>,
}

/// Answers each line with a completion as soon as it was read.
///
/// # Errors
///
/// Failing reads and writes; a bad line is answered and is not a failure.
pub fn run(
    defaults: &BatchDefaults,
    mut input: impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<Exit> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).context(crate::parse::STDIN)? > 0 {
        let text = line.trim_ascii();
        if !text.is_empty() {
            let (id, completion) = answer(defaults, text);
            batch_line(output, &id, &completion)?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(Exit::Done)
}

/// Returns the id of a line and its completion, or the error of the line.
fn answer(defaults: &BatchDefaults, line: &[u8]) -> (Value, Completion) {
    // Invalid UTF-8 becomes U+FFFD here too.
    let line = String::from_utf8_lossy(line);
    let value: Value = match serde_json::from_str(&line) {
        Ok(value) => value,
        Err(error) => return (Value::Null, refusal(&error.into())),
    };
    let id = value.get("id").cloned().unwrap_or_default();
    let completion = complete(defaults, value).unwrap_or_else(|error| refusal(&error));
    (id, completion)
}

fn complete(defaults: &BatchDefaults, line: Value) -> anyhow::Result<Completion> {
    let item: BatchLine = serde_json::from_value(line)?;
    let base = &defaults.text;
    let by_model = item.model.is_some();
    // A model that the line names beats dialects of the command line.
    let base_name = |name: &Option<String>| name.clone().filter(|_| !by_model);
    let text = TextArgs {
        dialect: item.dialect.or_else(|| base_name(&base.dialect)),
        thinking: item.thinking.or_else(|| base_name(&base.thinking)),
        model: item.model.or_else(|| base.model.clone()),
        prompt_tail: item.prompt_tail.or_else(|| base.prompt_tail.clone()),
        finish: item.finish.or_else(|| base.finish.clone()),
    };
    let mut reading = text.reading()?;
    reading.schemas = match &item.tools {
        None | Some(Value::Null) => defaults.schemas.clone(),
        Some(list) => tool_schemas(list)?,
    };
    let cuts = match (item.chunks, item.chunk_bytes) {
        (Some(sizes), _) => ChunkCuts::Sizes(sizes),
        (None, Some(size)) => ChunkCuts::every(size),
        (None, None) => defaults.cuts.clone(),
    };
    let chunks = cuts.apply(item.text.as_bytes());
    Ok(parse_chunks(reading, text.finish_reason(), chunks, &mut |_| {}))
}

fn refusal(error: &anyhow::Error) -> Completion {
    let message = format!("invalid batch item: {error:#}");
    let mut completion = Completion::default();
    completion.error = Some(AgentError::new(ErrorCode::InvalidRequest, message));
    completion
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> Vec<Value> {
        let cuts = ChunkCuts::AsRead;
        let defaults = BatchDefaults { text: TextArgs::default(), schemas: Vec::new(), cuts };
        let mut output = Vec::new();
        assert_eq!(run(&defaults, input, &mut output).unwrap(), Exit::Done);
        let lines = std::str::from_utf8(&output).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_line_has_its_answer_in_order_and_a_bad_one_stops_nothing() {
        let input = concat!(
            r#"{"id":1,"text":"one"}"#,
            "\n\nnot JSON\r\n",
            r#"{"id":"b","text":"two","dialect":"no such"}"#,
            "\n",
            r#"{"id":["c"],"text":"日本","chunk_bytes":1,"finish":"length"}"#,
            "\n",
            r#"{"id":4}"#,
            "\n",
            r#"{"id":5,"text":"x","chunks":[-1]}"#,
            "\n",
            r#"{"id":6,"text":"last","dialect":"none","thinking":"none"}"#,
        );
        let answers = answers(input.as_bytes());
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].to_string()).collect();
        assert_eq!(ids, ["1", "null", "\"b\"", "[\"c\"]", "4", "5", "6"]);
        let failed: Vec<_> = answers.iter().map(|answer| !answer["error"].is_null()).collect();
        assert_eq!(failed, [false, true, true, false, true, true, false]);
        assert_eq!(answers[3]["text"], "日本");
        assert_eq!(answers[3]["finish_reason"], "length");
        assert_eq!(answers[6]["text"], "last");
        let message = answers[2]["error"]["message"].as_str().unwrap();
        assert!(message.contains("choose one of: auto, none, forge"), "{message}");
    }
}
