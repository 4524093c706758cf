//! Options of the request, and files, beside the questions of `run` and `chat`.

use std::{fs::File, path::PathBuf};

use clap::Args;
use forgeline::{
    llm::{Request, ResponseFormat},
    types::{Message, Part},
};
use serde_json::Value;

use crate::{
    exit::{UsageResult as _, usage},
    image::picture,
    prompt::read_text,
};

/// The options of every request, as flags.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RequestArgs {
    /// Sampling temperature: 0 takes the most likely words [default: the provider's]
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    temperature: Option<f32>,
    /// Maximum tokens of one response of the model [default: the provider's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,
    /// Ask for JSON that matches the JSON Schema in this file
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

/// What goes with the first question, as flags.
#[derive(Debug, Clone, Default, Args)]
pub struct QuestionArgs {
    /// Append the text of this file to the (first) question; may be given several times
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Send this picture with the (first) question: PNG, JPEG, GIF or WebP; may be given several times
    #[arg(long, value_name = "PATH")]
    image: Vec<PathBuf>,
}

fn temperature(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a non-negative number, such as 0.7".to_owned())
}

impl RequestArgs {
    /// Returns `true` when the answer must match a schema.
    pub(crate) fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Returns the template of all requests.
    ///
    /// # Errors
    ///
    /// A usage error when the schema cannot be read.
    pub(crate) fn template(&self) -> anyhow::Result<Request> {
        let mut request = Request::default();
        (request.temperature, request.max_tokens) = (self.temperature, self.max_tokens);
        request.response_format = self.schema.as_ref().map(schema).transpose()?;
        Ok(request)
    }
}

impl QuestionArgs {
    /// Reads what goes with the question.
    ///
    /// # Errors
    ///
    /// A usage error for a file that cannot be read, is not a text file or is not a picture.
    pub fn beside(&self) -> anyhow::Result<QuestionAttachments> {
        let pictures = self.image.iter().map(|path| picture(path));
        Ok(QuestionAttachments {
            text: self.texts()?,
            pictures: pictures.collect::<anyhow::Result<_>>()?,
        })
    }

    fn texts(&self) -> anyhow::Result<String> {
        let mut texts = String::new();
        for path in &self.file {
            let shown = path.display();
            let advice = || format!("cannot read {shown}; give --file the path of a text file");
            let file = File::open(path).usage_context(advice)?;
            let text = read_text(file, &shown.to_string()).usage_context(advice)?;
            if text.contains('\0') {
                return Err(usage(format!(
                    "{shown} is not a text file; --file takes text files only"
                )));
            }
            let text = text.trim_end_matches(['\n', '\r']);
            texts.extend(["\n\n", &shown.to_string(), ":\n\n", text]);
        }
        Ok(texts)
    }
}

/// Attachments of a question: texts after it, and pictures.
#[derive(Debug, Default)]
pub struct QuestionAttachments {
    text: String,
    pictures: Vec<Part>,
}

impl QuestionAttachments {
    /// Returns the question with its attachments.
    #[must_use]
    pub fn behind(self, question: String) -> Message {
        let mut message = Message::user(question + &self.text);
        message.parts.extend(self.pictures);
        message
    }
}

fn schema(path: &PathBuf) -> anyhow::Result<ResponseFormat> {
    let shown = path.display();
    let advice = || format!("{shown} is not a JSON schema such as {{\"type\":\"object\"}}");
    let file = File::open(path)
        .usage_context(|| format!("cannot read {shown}; give --schema the path of a file"))?;
    let schema: Value =
        serde_json::from_str(&read_text(file, &shown.to_string())?).usage_context(advice)?;
    if !schema.is_object() {
        return Err(usage(advice()));
    }
    Ok(ResponseFormat::json_schema("answer", schema, false))
}
