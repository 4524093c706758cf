//! Questions of tools: forms that are filled in line by line, and addresses to open.

use forgeline::{
    agent::steering::Questions,
    types::{Json, Text, ToolAnswer, ToolQuestion},
};
use serde_json::{Map, Value};

/// The line that refuses to answer.
const REFUSE: &str = "/decline";

/// Asks the user what tools ask.
#[derive(Debug, Default)]
pub struct QuestionForms(Option<OpenForm>);

/// A question that is being answered.
#[derive(Debug)]
struct OpenForm {
    question: ToolQuestion,
    fields: Vec<FormField>,
    /// The field that is asked for.
    at: usize,
    values: Map<String, Value>,
}

/// A field of a form.
#[derive(Debug)]
struct FormField {
    name: String,
    schema: Value,
    is_required: bool,
}

impl QuestionForms {
    /// Returns what to ask about the first question that `is_shown`, by its id, and was not asked yet.
    pub fn question(
        &mut self,
        questions: &Questions,
        is_shown: impl Fn(&Text) -> bool,
    ) -> Option<String> {
        let all = questions.open();
        let first = all.iter().find(|question| is_shown(&question.question_id))?;
        if self.0.as_ref().is_some_and(|open| open.question.question_id == first.question_id) {
            return None;
        }
        let open = OpenForm::new(first.clone());
        let text = format!("{}\n{}", open.intro(), open.line());
        self.0 = Some(open);
        Some(text)
    }

    /// Returns `true` while a question that was asked has no answer.
    #[must_use]
    pub fn is_open(&self, questions: &Questions) -> bool {
        let is_it = |id: &Text| questions.open().iter().any(|open| open.question_id == *id);
        self.0.as_ref().is_some_and(|open| is_it(&open.question.question_id))
    }

    /// Takes a line as the answer to what was asked; returns the text to show.
    pub fn answer(&mut self, line: &str, questions: &Questions) -> Option<String> {
        let open = self.0.as_mut()?;
        let answer = match open.take(line.trim()) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Some(open.line()),
            Err(problem) => return Some(format!("{problem}\n{}", open.line())),
        };
        let is_answered = matches!(answer, ToolAnswer::Accept { .. });
        let said = if is_answered { "(answered)" } else { "(not answered)" };
        match questions.answer(&open.question.question_id, answer) {
            Ok(()) => {
                self.0 = None;
                Some(said.to_owned())
            }
            Err(error) if self.is_open(questions) => {
                let open = self.0.as_mut()?;
                (open.at, open.values) = (0, Map::new());
                Some(format!("{}; try again\n{}", error.message, open.line()))
            }
            Err(_) => Some("(too late)".to_owned()),
        }
    }

    /// Gives up what is open: no answer can come.
    pub fn leave(&self, questions: &Questions) {
        for question in questions.open() {
            let _late = questions.answer(&question.question_id, ToolAnswer::Cancel);
        }
    }
}

impl OpenForm {
    fn new(question: ToolQuestion) -> Self {
        let schema = question.schema.as_ref().map(Json::to_value).unwrap_or_default();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let fields = fields.map(|(name, schema)| FormField {
            name: name.clone(),
            schema: schema.clone(),
            is_required: is_required(name),
        });
        let fields = fields.collect();
        Self { question, fields, at: 0, values: Map::new() }
    }

    /// Returns who asks for what.
    fn intro(&self) -> String {
        let ToolQuestion { tool_name, message, .. } = &self.question;
        let hint = if self.fields.is_empty() { "" } else { " An empty line accepts the default." };
        format!("{tool_name} asks: {message}\n{REFUSE} declines to answer.{hint}")
    }

    /// Returns what is asked for next.
    fn line(&self) -> String {
        if let Some(url) = &self.question.url {
            return format!("{url}\nOpen it yourself if you trust it. y: done, n: no");
        }
        let Some(field) = self.fields.get(self.at) else {
            return "Send the answer? y: yes, n: no".to_owned();
        };
        field.line()
    }

    /// Takes a line; returns the answer once it is whole.
    fn take(&mut self, line: &str) -> Result<Option<ToolAnswer>, String> {
        if line == REFUSE {
            return Ok(Some(ToolAnswer::Decline));
        }
        let Some(field) = self.fields.get(self.at) else {
            return match line.to_ascii_lowercase().as_str() {
                "y" | "yes" => Ok(Some(self.accept())),
                "n" | "no" => Ok(Some(ToolAnswer::Decline)),
                _ => Err("expected y or n".to_owned()),
            };
        };
        if let Some(value) = field.value(line)? {
            self.values.insert(field.name.clone(), value);
        }
        self.at += 1;
        Ok((self.at == self.fields.len()).then(|| self.accept()))
    }

    fn accept(&self) -> ToolAnswer {
        ToolAnswer::accept(Value::Object(self.values.clone()).into())
    }
}

impl FormField {
    fn line(&self) -> String {
        let text = |key: &str| self.schema.get(key).and_then(Value::as_str);
        let title = text("title").unwrap_or(&self.name);
        let about = text("description").map(|about| format!(", {about}")).unwrap_or_default();
        let choices = self.choices();
        let choices = match (self.kind(), choices.is_empty()) {
            ("boolean", _) => " (y or n)".to_owned(),
            (_, true) => String::new(),
            ("array", false) => format!(" (any of: {}; separated by commas)", choices.join(", ")),
            (_, false) => format!(" (one of: {})", choices.join(", ")),
        };
        let default = match self.schema.get("default") {
            Some(default) => format!(" [{default}]"),
            None if self.is_required => String::new(),
            None => " [nothing]".to_owned(),
        };
        format!("{title}{about}{choices}{default}:")
    }

    fn kind(&self) -> &str {
        self.schema.get("type").and_then(Value::as_str).unwrap_or("string")
    }

    /// Returns the values that are allowed, with their titles.
    fn choices(&self) -> Vec<String> {
        let place = self.schema.get("items").unwrap_or(&self.schema);
        let list = |key: &str| place.get(key).and_then(Value::as_array).into_iter().flatten();
        let plain = list("enum").filter_map(Value::as_str).map(str::to_owned);
        let titled = list("oneOf").chain(list("anyOf")).filter_map(|option| {
            let value = option.get("const")?.as_str()?;
            let title = option.get("title").and_then(Value::as_str).filter(|title| *title != value);
            Some(title.map_or_else(|| value.to_owned(), |title| format!("{value} = {title}")))
        });
        plain.chain(titled).collect()
    }

    /// Reads a line as a value; `None` for one that is left out.
    fn value(&self, line: &str) -> Result<Option<Value>, String> {
        let has_default = self.schema.get("default").is_some();
        if line.is_empty() && (has_default || !self.is_required) {
            return Ok(None);
        }
        let read = match self.kind() {
            "boolean" => match line.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Some(true.into()),
                "n" | "no" | "false" => Some(false.into()),
                _ => return Err("expected y or n".to_owned()),
            },
            "integer" => line.parse::<i64>().ok().map(Value::from),
            "number" => line.parse::<f64>().ok().map(Value::from).filter(Value::is_number),
            "array" => {
                let items = line.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(items.map(Value::from).collect())
            }
            _ => Some(line.into()),
        };
        read.map(Some).ok_or_else(|| format!("expected a number, not `{line}`"))
    }
}

#[cfg(test)]
mod tests {
    use forgeline::{
        agent::{
            Agent,
            tools::{Question, ToolContext, tool_fn},
        },
        testing::{ScriptedProvider, ScriptedTurn},
        types::AgentEvent,
    };
    use serde_json::json;

    use super::*;

    /// Asks a question and gives these lines; returns what was shown, and the result of the tool.
    async fn filled(question: Question, lines: &[&str]) -> (Vec<String>, String) {
        let tool = tool_fn("ask", "Asks.", move |context: ToolContext, (): ()| {
            let question = question.clone();
            async move { serde_json::to_string(&context.ask(question).await).unwrap() }
        });
        let turn = ScriptedTurn::new().call("ask", json!({}));
        let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Ok.")]);
        let mut stream = Agent::builder(provider).tool(tool).build().unwrap().run_stream("Go.");
        let (questions, mut forms, mut shown) =
            (stream.questions(), QuestionForms::default(), Vec::new());
        while let Some(envelope) = stream.next().await {
            if matches!(envelope.event, AgentEvent::ToolQuestion(_)) {
                assert!(!forms.is_open(&questions));
                shown.extend(forms.question(&questions, |_| true));
                assert_eq!(forms.question(&questions, |_| true), None, "once");
                for line in lines {
                    assert!(forms.is_open(&questions), "{line}");
                    shown.extend(forms.answer(line, &questions));
                }
                forms.leave(&questions);
            }
        }
        let outcome = stream.outcome().await.unwrap();
        let result = outcome.messages[2].tool_results().next().unwrap().content.clone();
        (shown, result)
    }

    #[tokio::test]
    async fn a_form_is_filled_in_line_by_line() {
        let schema = json!({
            "type": "object",
            "properties": {
                "age": { "type": "integer", "minimum": 1 },
                "colour": { "type": "string", "title": "Colour", "description": "of the car", "oneOf": [{ "const": "r", "title": "Red" }], "default": "r" },
                "loud": { "type": "boolean" },
                "name": { "type": "string" },
                "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            },
            "required": ["name", "age"],
        });
        let lines = ["x", "0", "", "", "Bob", "a, b", "7", "r", "maybe", "y", "Ann", ""];
        let (shown, result) = filled(Question::form("Who?", schema), &lines).await;
        assert_eq!(
            result,
            r#"{"action":"accept","content":{"age":7,"colour":"r","loud":true,"name":"Ann"}}"#
        );
        assert!(shown[0].starts_with("ask asks: Who?"), "{shown:?}");
        assert!(shown[1].starts_with("expected a number, not `x`"), "{shown:?}");
        assert_eq!(shown[2], r#"Colour, of the car (one of: r = Red) ["r"]:"#);
        assert_eq!(shown[5], "tags (any of: a, b; separated by commas) [nothing]:");
        assert!(shown[6].contains("`age` must be at least 1; try again\nage:"), "{shown:?}");
        assert_eq!(shown.last().unwrap(), "(answered)");
    }

    #[tokio::test]
    async fn an_address_and_a_refusal() {
        let url = Question::url("Sign.", "https://example.org/7");
        let (shown, result) = filled(url.clone(), &["hm", "y"]).await;
        assert!(shown[0].contains("https://example.org/7\n"), "{shown:?}");
        assert_eq!(result, r#"{"action":"accept","content":{}}"#);
        assert_eq!(filled(url.clone(), &["n"]).await.1, r#"{"action":"decline"}"#);
        assert_eq!(filled(url.clone(), &[REFUSE]).await.1, r#"{"action":"decline"}"#);
        assert_eq!(filled(url, &[]).await.1, r#"{"action":"cancel"}"#);
    }
}
