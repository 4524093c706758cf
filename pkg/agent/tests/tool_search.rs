//! Tools that are searched for, because there are too many to describe them all.

use std::{ops::Range, sync::Arc};

use super::*;
use crate::Conversation;
use crate::{
    Caller, RunInput,
    config::CallMode,
    journal::MemoryJournal,
    run::RunContext,
    search::ToolSearch,
    tools::{TOOL_SEARCH, Tool},
};
use forgeline_llm::{Provider as _, Request, TokenEstimator, ToolSpec};

const ACTIONS: [&str; 10] = [
    "create an entry",
    "change an entry",
    "delete an entry",
    "list all entries",
    "search the entries",
    "count the entries",
    "copy an entry",
    "archive an entry",
    "share an entry",
    "export the entries",
];

const SUBJECTS: [&str; 10] = [
    "mail", "calendar", "contacts", "notes", "photos", "music", "books", "travel", "money", "sport",
];

#[derive(Deserialize, JsonSchema)]
struct Entry {
    /// The title of the entry, as people would write it.
    title: String,
    /// The day, as year, month and day.
    #[serde(default)]
    #[expect(dead_code, reason = "it is in the schema")]
    day: Option<String>,
}

/// One of many tools: `calendar.n12_create`.
fn tool(at: usize) -> Arc<dyn Tool> {
    let (subject, action) = (SUBJECTS[at / 10 % 10], ACTIONS[at % 10]);
    let name = name(at);
    let about = format!("Use this to {action} of the {subject}, in department {}.", at / 100);
    let result = format!("{name} did it");
    Arc::new(tool_fn(name, about, move |_: ToolContext, entry: Entry| {
        std::future::ready(format!("{result}: {}", entry.title))
    }))
}

fn name(at: usize) -> String {
    let verb = ACTIONS[at % 10].split(' ').next().unwrap();
    format!("{}.n{}_{verb}", SUBJECTS[at / 10 % 10], at / 100)
}

pub(super) fn many(tools: Range<usize>) -> Vec<Arc<dyn Tool>> {
    tools.map(tool).collect()
}

fn search(query: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(TOOL_SEARCH, json!({ "query": query }))
}

fn calling(at: usize) -> ScriptedTurn {
    ScriptedTurn::new().call(&name(at).replace('.', "_"), json!({ "title": "Rehearsal" }))
}

fn done() -> ScriptedTurn {
    ScriptedTurn::new().text("Done.")
}

/// An agent whose provider describes found tools where they were found.
fn agent_of(turns: impl IntoIterator<Item = ScriptedTurn>) -> (ScriptedProvider, AgentBuilder) {
    let provider = ScriptedProvider::new(turns);
    let info = provider.info().clone().deferred_tools(true);
    let provider = provider.info_of(info);
    (provider.clone(), Agent::builder(provider))
}

fn names(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|spec| spec.name.as_str()).collect()
}

fn results(agent: &Conversation) -> Vec<(String, bool)> {
    let transcript = agent.transcript();
    let results = transcript.iter().flat_map(|message| message.tool_results());
    results.map(|result| (result.content.clone(), result.is_error)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_tools_cost_few_tokens_and_what_is_found_stands_behind_what_was_sent() {
    let turns = [search("create a calendar entry in department 7"), calling(710), done()];
    let (provider, builder) = agent_of(turns);
    let agent = builder.system("You help.").tools(many(0..1_000)).build().unwrap().conversation();
    let outcome = agent.run("Plan the rehearsal.").await.unwrap();
    assert_eq!(outcome.text, "Done.");
    let requests = provider.requests();
    let tokens = TokenEstimator::new().request(&requests[0]);
    assert!(tokens <= 3_000, "{tokens} tokens");
    let all: Vec<ToolSpec> = many(0..1_000)
        .iter()
        .map(|tool| ToolSpec::new(tool.name(), tool.description(), tool.schema()))
        .collect();
    assert!(TokenEstimator::new().tools(&all) > 30_000, "there is something to save");

    assert_eq!(names(&requests[0]), [TOOL_SEARCH]);
    assert_eq!(names(&requests[1]).len(), 6, "one search finds five: {:?}", names(&requests[1]));
    assert!(names(&requests[1]).contains(&"calendar.n7_create"));
    for pair in requests.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert_eq!(
            pair[1].tools[..pair[0].tools.len()],
            pair[0].tools[..],
            "only more, and behind"
        );
        assert_eq!(
            pair[1].messages.messages()[..pair[0].messages.len()],
            *pair[0].messages.messages()
        );
    }
    assert!(Arc::ptr_eq(&requests[1].tools, &requests[2].tools), "nothing new, nothing made anew");
    let (told, worked) = (&results(&agent)[0], &results(&agent)[1]);
    assert!(told.0.starts_with("5 tools found. They can be called from now on:\n- "), "{}", told.0);
    assert_eq!(*worked, ("calendar.n7_create did it: Rehearsal".to_owned(), false));
}

#[tokio::test(start_paused = true)]
async fn in_text_mode_what_is_found_is_described_in_the_result_and_the_prompt_stays() {
    let search =
        r#"<tool>{"tool_name":"tool_search","arguments":{"query":"calendar.n7_create"}}</tool>"#;
    let call =
        r#"<tool>{"tool_name":"calendar.n7_create","arguments":{"title":"Rehearsal"}}</tool>"#;
    let turns = [search, call, "Done."].map(|text| ScriptedTurn::new().text(text));
    let (provider, builder) = agent_of(turns);
    let builder = builder.call_mode(CallMode::Text).system("You help.");
    let agent = builder.tools(many(0..1_000)).build().unwrap().conversation();
    assert_eq!(agent.run("Plan the rehearsal.").await.unwrap().text, "Done.");
    let requests = provider.requests();
    let tokens = TokenEstimator::new().request(&requests[0]);
    assert!(tokens <= 3_000, "{tokens} tokens");
    let system = requests[0].system.as_deref().unwrap();
    assert!(system.contains(TOOL_SEARCH) && !system.contains("calendar."), "{system}");
    for pair in requests.windows(2) {
        assert_eq!((&pair[0].system, &*pair[0].tools), (&pair[1].system, &*pair[1].tools));
        assert_eq!(
            pair[1].messages.messages()[..pair[0].messages.len()],
            *pair[0].messages.messages()
        );
    }
    let found = requests[1].messages.messages().last().unwrap().text();
    let described = r#"{"name":"calendar.n7_create","description":"Use this to create"#;
    assert!(found.contains(described) && found.contains(r#""title":{"#), "{found}");
    assert_eq!(results(&agent)[1].0, "calendar.n7_create did it: Rehearsal");
}

#[tokio::test(start_paused = true)]
async fn few_tools_are_all_offered_and_some_are_offered_in_any_case() {
    let (provider, builder) = agent_of([done()]);
    builder.tools(many(0..20)).build().unwrap().conversation().run("Hi").await.unwrap();
    assert_eq!(names(&provider.requests()[0]).len(), 20, "20 tools take less than a twentieth");

    let (provider, builder) = agent_of([done()]);
    let always = ToolSearch::default().share(0).always([name(3), name(1)]);
    let builder = builder.tools(many(0..20)).loop_breaking_tools(true).tool_search(always);
    builder.build().unwrap().conversation().run("Hi").await.unwrap();
    let want = [&name(1), &name(3), "task_completion", "ask_question", "converse", TOOL_SEARCH];
    assert_eq!(names(&provider.requests()[0]), want);

    let (provider, builder) = agent_of([done()]);
    let never = ToolSearch::default().share(u32::MAX);
    builder
        .tools(many(0..1_000))
        .tool_search(never)
        .build()
        .unwrap()
        .conversation()
        .run("Hi")
        .await
        .unwrap();
    assert_eq!(names(&provider.requests()[0]).len(), 1_000);

    // A model with a smaller window, or a smaller limit of its requests, searches sooner.
    let small = |builder: AgentBuilder, limit| {
        let builder = if limit { builder.max_context_tokens(8_000) } else { builder };
        let search = ToolSearch::default().window(if limit { 128_000 } else { 8_000 });
        builder.tools(many(0..20)).tool_search(search).build().unwrap().conversation()
    };
    for limit in [false, true] {
        let (provider, builder) = agent_of([done()]);
        small(builder, limit).run("Hi").await.unwrap();
        assert_eq!(names(&provider.requests()[0]), [TOOL_SEARCH], "{limit}");
    }
}

#[test]
fn bad_settings_and_a_tool_of_the_same_name_are_refused_with_what_to_do() {
    let build = |search| agent_of([]).1.tool_search(search).build().unwrap_err().to_string();
    let zero = "`tool_search.most` is 0; it must be greater than 0";
    assert_eq!(build(ToolSearch::default().most(0)), zero);
    let zero = "`tool_search.window` is 0; it must be greater than 0";
    assert_eq!(build(ToolSearch::default().window(0)), zero);
    let own = tool_fn(TOOL_SEARCH, "Mine.", async |_: ToolContext, (): ()| ());
    let error = agent_of([]).1.tool(own).build().unwrap_err().to_string();
    assert!(error.contains("`tool_search`") && error.contains("reserved"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_search_that_finds_nothing_and_one_that_is_too_long_say_so() {
    let long = "entry ".repeat(500_000);
    let turns = [search("xylophone"), search(""), search(&long), done()];
    let (provider, builder) = agent_of(turns);
    let agent = builder.tools(many(0..1_000)).max_result_chars(100).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let nothing =
        "No tool matches any of these words. Search with other words, or say what is missing.";
    let results = results(&agent);
    assert_eq!((results[0].0.as_str(), results[1].0.as_str()), (nothing, nothing));
    assert!(results[2].0.contains("toolResultElided"), "{}", results[2].0);
    // What the model could not read is not loaded.
    assert_eq!(names(provider.requests().last().unwrap()), [TOOL_SEARCH]);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_none_is_answered_shortly_and_one_that_was_not_found_works() {
    let unknown = ScriptedTurn::new().call("calendar_nine", json!({}));
    let bad = ScriptedTurn::new().call(&name(42).replace('.', "_"), json!({ "title": 1 }));
    let (provider, builder) = agent_of([unknown, bad, calling(42), done()]);
    let agent = builder.tools(many(0..1_000)).build().unwrap().conversation();
    agent.run("Go.").await.unwrap();
    let results = results(&agent);
    let want = "There is no tool `calendar_nine`. Call one of these: tool_search. Other tools are \
                found by `tool_search`.";
    assert_eq!(results[0], (want.to_owned(), true));
    assert!(results[1].1 && results[1].0.contains("title"), "{}", results[1].0);
    assert_eq!(results[2], (format!("{} did it: Rehearsal", name(42)), false));
    // The model reads the schema of what it called.
    assert_eq!(names(&provider.requests()[2]), [TOOL_SEARCH, &name(42)]);
}

#[tokio::test(start_paused = true)]
async fn nobody_can_find_or_load_a_tool_without_its_permission() {
    let forged = ["payroll.raise_salary", "payroll_raise_salary"];
    let call = |name: &str| ScriptedTurn::new().call(name, json!({ "title": "Ann" }));
    for may in [false, true] {
        let queries =
            ["salary", "payroll.raise_salary", "raise the salary of payroll_raise_salary"];
        let turns = queries.map(search).into_iter().chain(forged.map(call)).chain([done()]);
        let (provider, builder) = agent_of(turns);
        let raise = |_: ToolContext, entry: Entry| std::future::ready(entry.title);
        let about = "Raises the salary of a person.";
        let secret = tool_fn("payroll.raise_salary", about, raise).permission("payroll");
        let agent = builder.tools(many(0..1_000)).tool(secret).build().unwrap().conversation();
        let caller = Caller::new("ann");
        let caller = if may { caller.permission("payroll") } else { caller };
        agent.run(RunInput::from("Go.").caller(caller)).await.unwrap();
        let is_known = |request: &Request| {
            let text = serde_json::to_string(request).unwrap();
            text.contains("Raises the salary")
        };
        assert_eq!(provider.requests().iter().any(is_known), may);
        let (results, forged) = (results(&agent), queries.len()..);
        for result in &results[..queries.len()] {
            assert_eq!(result.0.contains("payroll.raise_salary: Raises"), may, "{}", result.0);
        }
        for result in &results[forged] {
            assert_eq!(result.1, !may, "{}", result.0);
        }
        // Who comes next in the conversation has what is theirs.
        agent.run("Go on.").await.unwrap_err();
        let last = provider.requests().pop().unwrap();
        assert!(!names(&last).contains(&"payroll.raise_salary"), "{:?}", names(&last));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_resumed_anywhere_and_the_next_one_have_what_was_found() {
    let turns = || [search("calendar.n7_create"), search("mail.n2_list"), calling(710), done()];
    let build = |turns: Vec<ScriptedTurn>, journal: MemoryJournal| {
        let (provider, builder) = agent_of(turns);
        let builder = builder.tools(many(0..1_000)).tool_search(ToolSearch::default().most(2));
        (provider, builder.build().unwrap().conversation().with_journal(journal))
    };
    let journal = MemoryJournal::default();
    let (provider, agent) = build(turns().into(), journal.clone());
    agent.run("Go.").await.unwrap();
    let whole = provider.requests();
    let lines = journal.lines();
    let mut resumed = 0;
    for end in 1..=lines.len() {
        // What the journal has of the run has been answered; the rest is asked for again.
        let part = MemoryJournal::from(lines[..end].to_vec());
        let answered = lines[..end].iter().filter(|line| line.contains("\"answered\"")).count();
        let left = turns().into_iter().skip(answered).collect();
        let (provider, agent) = build(left, part);
        if agent.resume().await.unwrap().is_none() {
            continue;
        }
        resumed += 1;
        for (request, want) in provider.requests().iter().zip(&whole[answered..]) {
            assert_eq!(names(request), names(want), "cut after line {end}");
            assert_eq!(request.tools, want.tools);
        }
    }
    assert!(resumed > 4, "{resumed}");
    let (provider, agent) = build(vec![done()], MemoryJournal::from(lines));
    agent.resume().await.unwrap();
    agent.run("And now?").await.unwrap();
    assert_eq!(names(&provider.requests()[0]), names(whole.last().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn contributed_tools_are_searched_and_their_index_is_made_once() {
    let run = || [search("calendar.n7_create"), calling(710), done()];
    let (provider, builder) = agent_of(run().into_iter().chain(run()));
    let source = |_: RunContext| async { Ok(many(0..1_000)) };
    let agent =
        builder.tool(crate::tools::Calculator).tool_source(source).build().unwrap().conversation();
    assert!(agent.0.parts.index.is_none());
    let index =
        || agent.0.parts.last_index.lock().unwrap().clone().map(|it| Arc::as_ptr(&it).addr());
    agent.run("Go.").await.unwrap();
    let first = index();
    assert!(first.is_some());
    let calculator = |request: &Request| names(request).contains(&"calculator");
    assert!(!calculator(&provider.requests()[0]), "it is found as well");
    assert_eq!(agent.run("Go on.").await.unwrap().text, "Done.");
    assert_eq!(index(), first);
    assert_eq!(results(&agent)[3].0, "calendar.n7_create did it: Rehearsal");
}

#[tokio::test]
async fn the_tool_that_loads_skills_is_offered_beside_many_others() {
    let load = tool_fn("load_skill", "Loads a skill.", |_: ToolContext, _: Nothing| async { "" });
    let (provider, builder) = agent_of([done()]);
    builder
        .tools(many(0..1_000))
        .tool(load)
        .build()
        .unwrap()
        .conversation()
        .run("Go.")
        .await
        .unwrap();
    assert!(names(&provider.requests()[0]).contains(&"load_skill"));
}
