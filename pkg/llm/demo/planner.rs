//! The rules of the demo model.

use serde_json::{Map, Value, json};

use super::{
    situation::{AgentDemand, DemoSituation, DoneStep, TOOL_SEARCH},
    words::{arithmetic, between, numbers, path, quoted, words},
};

const LIST: &str = "files.list";
const READ: &str = "files.read";
const WRITE: &str = "files.write";
const SEARCH: &str = "files.search";
const CALCULATOR: &str = "calculator";
const COMPLETE: &str = "task_completion";

/// Tools that have rules of their own.
const KNOWN: [&str; 9] =
    [LIST, READ, WRITE, SEARCH, CALCULATOR, COMPLETE, "ask_question", "converse", TOOL_SEARCH];

/// The next reply of the demo model.
#[derive(Debug, PartialEq)]
pub(super) struct DemoReply {
    /// The reasoning before the text.
    pub(super) thinking: String,
    /// The text for the user.
    pub(super) text: String,
    /// The name and arguments of the call after the text.
    pub(super) call: Option<(String, Value)>,
}

impl DemoReply {
    fn call(thinking: String, text: &str, name: &str, arguments: Value) -> Self {
        Self { thinking, text: text.to_owned(), call: Some((name.to_owned(), arguments)) }
    }

    fn answer(thinking: &str, text: String) -> Self {
        Self { thinking: thinking.to_owned(), text, call: None }
    }
}

/// Returns the next reply for this situation.
pub(super) fn next(situation: &DemoSituation) -> DemoReply {
    let reply = match situation.steps.last() {
        Some(step) if step.is_error => failed(step),
        _ => step(situation),
    };
    // If the agent requires a call, the answer is given as a call.
    if situation.urge == AgentDemand::Call && reply.call.is_none() && situation.has(COMPLETE) {
        let arguments = json!({ "result": reply.text });
        let thinking = "The agent wants a call, so I hand the answer over as one.".to_owned();
        return DemoReply::call(thinking, "", COMPLETE, arguments);
    }
    reply
}

fn step(situation: &DemoSituation) -> DemoReply {
    let task = situation.task.as_str();
    let rules = [
        named_tool,
        mentions_most,
        lines_of_file,
        write,
        search,
        read,
        list,
        calculate,
        look_for_tool,
    ];
    let found = rules.into_iter().find_map(|rule| rule(situation, task));
    found.unwrap_or_else(|| match situation.steps.last() {
        Some(step) => DemoReply::answer(
            "I have a result and no rule for going on, so I pass it on.",
            format!("The tool `{}` says:\n\n{}", step.name, step.result),
        ),
        None => explain(situation),
    })
}

fn failed(step: &DoneStep) -> DemoReply {
    let text = format!("That did not work: the call of `{}` failed.\n\n{}", step.name, step.result);
    DemoReply::answer("The tool failed. I know no other way, so I report it.", text)
}

fn explain(situation: &DemoSituation) -> DemoReply {
    let tools: Vec<_> = situation.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    let text = format!(
        "I am forgeline's demo model. I am no language model: I follow a few rules, offline, and \
         the same question always gets the same answer.\n\nMy tools: {tools}.\n\nTry one of \
         these:\n- What is (17 + 4) * 3?\n- List the files here.\n- Search for \"stream\".\n- Read \
         README.md.\n- Write \"Buy milk.\" to notes.md.\n- Which file here mentions stream most, and how \
         many lines has it times 3?"
    );
    DemoReply::answer("None of my rules fits this, so I say what I can do.", text)
}

/// Calls a tool that the prompt names, if the prompt also has its arguments.
fn named_tool(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let words = words(task);
    let tool = situation.tools.iter().find(|tool| {
        !KNOWN.contains(&tool.name.as_str()) && words.contains(&tool.name.to_lowercase())
    })?;
    if let Some(done) = situation.result_of(&tool.name) {
        let text = format!("The tool `{}` says: {}", tool.name, done.result);
        return Some(DemoReply::answer("That is the result I was asked for.", text));
    }
    let arguments = arguments_for(&tool.parameters, task)?;
    situation.has(&tool.name).then(|| {
        let thinking = format!("The prompt names the tool `{}`. I call it.", tool.name);
        DemoReply::call(thinking, "", &tool.name, arguments)
    })
}

/// Fills in the required fields: numbers in order, strings from quotes or else the whole prompt.
fn arguments_for(parameters: &Value, task: &str) -> Option<Value> {
    let mut numbers = numbers(task).into_iter();
    let mut arguments = Map::new();
    let required = parameters.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let kind = parameters.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str);
        let value = match kind? {
            "string" => json!(quoted(task).unwrap_or(task)),
            "number" => number(numbers.next()?),
            #[expect(clippy::cast_possible_truncation, reason = "a number that a person wrote")]
            "integer" => json!(numbers.next()? as i64),
            "boolean" => json!(true),
            _ => return None,
        };
        arguments.insert(name.to_owned(), value);
    }
    Some(Value::Object(arguments))
}

/// Returns a number as JSON, an integer without `.0`.
fn number(value: f64) -> Value {
    serde_json::from_str(&value.to_string()).unwrap_or(json!(value))
}

/// Answers "Which file mentions X most", with an optional "how many lines" and "times N".
fn mentions_most(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    if !words(task).contains(&"most".to_owned()) {
        return None;
    }
    let starts = ["mentions ", "mention ", "contains ", "talks about ", "says "];
    let topic = between(task, &starts, &[" the most", " most"])?;
    let Some(search) = situation.result_of(SEARCH) else {
        let arguments = json!({ "query": topic, "max_hits": 200 });
        let thinking = format!(
            "I need the file with the most mentions of \"{topic}\". First I search for them, then \
             I count."
        );
        return situation
            .has(SEARCH)
            .then(|| DemoReply::call(thinking, "Let me search the files.", SEARCH, arguments));
    };
    let Some((file, hits)) = most_hits(&search.result) else {
        let text = format!("No file here mentions \"{topic}\".");
        return Some(DemoReply::answer("The search found nothing.", text));
    };
    let lead = format!("`{file}` mentions \"{topic}\" most: on {hits} lines");
    if !words(task).contains(&"lines".to_owned()) {
        return Some(DemoReply::answer("I counted the hits of each file.", format!("{lead}.")));
    }
    lines_and_product(situation, task, &file, Some(&lead))
}

/// Answers "How many lines has FILE", with an optional "times N".
fn lines_of_file(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let words = words(task);
    let asks = words.windows(2).any(|pair| pair == ["many", "lines"]);
    let file = path(task).filter(|_| asks)?;
    lines_and_product(situation, task, &file, None)
}

fn lines_and_product(
    situation: &DemoSituation,
    task: &str,
    file: &str,
    lead: Option<&str>,
) -> Option<DemoReply> {
    let Some(read) = situation.result_of(READ) else {
        let thinking = format!(
            "I want the number of lines of `{file}`. Reading its first line tells me how many there \
             are."
        );
        let say = if lead.is_some() { "Now its length." } else { "Let me look at the file." };
        let arguments = json!({ "path": file, "limit": 1 });
        return situation.has(READ).then(|| DemoReply::call(thinking, say, READ, arguments));
    };
    let lines: u64 = read.result.lines().next()?.rsplit(' ').next()?.parse().ok()?;
    let lead = lead.map_or_else(|| format!("`{file}`"), |lead| format!("{lead}. It"));
    let factor = between(task, &[" times "], &[]);
    let factor = factor.and_then(|text| numbers(&text).first().copied());
    let Some(factor) = factor else {
        let text = format!("{lead} has {lines} lines.");
        return Some(DemoReply::answer("The first line of the result counts the lines.", text));
    };
    let expression = format!("{lines} * {factor}");
    let Some(product) = situation.result_of(CALCULATOR) else {
        let thinking = format!("It has {lines} lines, and I am asked for {factor} times that.");
        let arguments = json!({ "expression": expression });
        let reply = || DemoReply::call(thinking, "And the multiplication.", CALCULATOR, arguments);
        return situation.has(CALCULATOR).then(reply);
    };
    let text = format!("{lead} has {lines} lines, and {expression} = {}.", product.result.trim());
    Some(DemoReply::answer("I have everything now.", text))
}

/// Returns the file with the most hits in a search result and their number; of equals, the first.
fn most_hits(result: &str) -> Option<(String, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for line in result.lines().skip(1) {
        let Some((file, rest)) = line.split_once(':') else { continue };
        if !rest.starts_with(|char: char| char.is_ascii_digit()) {
            continue;
        }
        match counts.iter_mut().find(|(name, _)| *name == file) {
            Some((_, count)) => *count += 1,
            None => counts.push((file, 1)),
        }
    }
    let (file, hits) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some((file.to_owned(), hits))
}

fn search(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let words = words(task);
    let verbs = ["search", "find", "grep", "mention", "mentions", "occurs", "contains", "contain"];
    if !words.iter().any(|word| verbs.contains(&word.as_str())) {
        return None;
    }
    if let Some(done) = situation.result_of(SEARCH) {
        let text = format!("Here is what I found: {}", done.result);
        return Some(DemoReply::answer("The search is done.", text));
    }
    let starts =
        ["search for ", "find ", "grep ", "mentions ", "mention ", "contains ", "contain "];
    let query = quoted(task).map(str::to_owned);
    let ends = [" in the ", " here", " most"];
    let query = query.or_else(|| between(task, &starts, &ends))?;
    let thinking = format!("I am to find \"{query}\" in the files.");
    let arguments = json!({ "query": query, "max_hits": 20 });
    situation.has(SEARCH).then(|| DemoReply::call(thinking, "Let me search.", SEARCH, arguments))
}

/// Writes the text in quotes to the file that the rest of the prompt names.
fn write(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let content = quoted(task)?;
    let around = task.replacen(content, " ", 1);
    if !words(&around).iter().any(|word| ["write", "save"].contains(&word.as_str())) {
        return None;
    }
    let file = path(&around)?;
    if let Some(done) = situation.result_of(WRITE) {
        let text = format!("`{file}` is written. {}", done.result);
        return Some(DemoReply::answer("The text is in the file.", text));
    }
    let thinking = format!("I am to put the text in quotes into `{file}`.");
    let arguments = json!({ "path": file, "content": content });
    situation.has(WRITE).then(|| DemoReply::call(thinking, "Let me write it.", WRITE, arguments))
}

fn read(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let file = path(task)?;
    if let Some(done) = situation.result_of(READ) {
        let text = format!("This is what it says. {}", done.result);
        return Some(DemoReply::answer("I have read the file.", text));
    }
    let thinking = format!("The prompt names the file `{file}`, so I read it.");
    let arguments = json!({ "path": file, "limit": 20 });
    situation.has(READ).then(|| DemoReply::call(thinking, "Let me read it.", READ, arguments))
}

fn list(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let words = words(task);
    let asks =
        words.iter().any(|word| ["files", "folder", "directory", "ls"].contains(&word.as_str()));
    if !asks {
        return None;
    }
    if let Some(done) = situation.result_of(LIST) {
        let count = done.result.lines().count();
        let text = format!("There are {count} files:\n\n{}", done.result);
        return Some(DemoReply::answer("I have the list.", text));
    }
    let thinking = "I am asked about the files here, so I list them.".to_owned();
    situation.has(LIST).then(|| DemoReply::call(thinking, "Let me look.", LIST, json!({})))
}

/// Searches for a tool once, if there are more than those listed.
fn look_for_tool(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let is_possible = situation.steps.is_empty() && situation.has(TOOL_SEARCH);
    is_possible.then(|| {
        let thinking = "None of my rules fits, and there are more tools than I see.".to_owned();
        let arguments = json!({ "query": task });
        DemoReply::call(thinking, "Let me look for a tool.", TOOL_SEARCH, arguments)
    })
}

fn calculate(situation: &DemoSituation, task: &str) -> Option<DemoReply> {
    let expression = arithmetic(task)?;
    if let Some(done) = situation.result_of(CALCULATOR) {
        let text = format!("{expression} = {}", done.result.trim());
        return Some(DemoReply::answer("The calculator has answered.", text));
    }
    let thinking = format!("This is arithmetic: {expression}. The calculator does that better.");
    let arguments = json!({ "expression": expression });
    let reply = || DemoReply::call(thinking, "Let me calculate.", CALCULATOR, arguments);
    situation.has(CALCULATOR).then(reply)
}
