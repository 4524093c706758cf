//! The conversation and the tools of its run, as a call sees them.

use std::sync::{Arc, Mutex};

use super::*;
use crate::{Caller, RunInput, access::NamedPermissions, search::ToolSearch};
use forgeline_types::{Message, MessageRole, Transcript};

/// The texts of messages, with their roles and the results in them.
fn texts(conversation: &Transcript) -> Vec<String> {
    let text = |message: &Arc<Message>| match message.role {
        MessageRole::User => format!("user:{}", message.text()),
        MessageRole::Assistant => format!("model:{}", message.text()),
        MessageRole::Tool => {
            let results = message.tool_results().map(|result| result.content.as_str());
            format!("results:{}", results.collect::<Vec<_>>().join(","))
        }
        other => format!("{other:?}"),
    };
    conversation.messages().iter().map(text).collect()
}

/// The conversation and the names of the tools, as the calls of `look` have seen them.
type Seen = Arc<Mutex<Vec<(Vec<String>, Vec<String>)>>>;

fn look(seen: &Seen) -> impl crate::tools::Tool + 'static {
    let seen = Arc::clone(seen);
    tool_fn("look", "Looks around.", move |context: ToolContext, _: Nothing| {
        let seen = Arc::clone(&seen);
        async move {
            let names = context.tools().map(|spec| spec.name.to_string()).collect();
            seen.lock().unwrap().push((texts(&context.conversation()), names));
            "seen"
        }
    })
}

fn call(name: &str) -> ScriptedTurn {
    ScriptedTurn::new().text("So far.").call(name, json!({}))
}

#[tokio::test]
async fn a_call_reads_the_conversation_of_its_run_up_to_itself() {
    let seen = Seen::default();
    let long = tool_fn("long", "Returns much.", async |_: ToolContext, _: Nothing| "x".repeat(99));
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().text("Hello."),
        call("long"),
        call("look"),
        ScriptedTurn::new().text("Done."),
    ]);
    let agent = Agent::builder(provider).tool(long.max_result_chars(40)).tool(look(&seen));
    let conversation = agent.build().unwrap().conversation();
    conversation.run("First?").await.unwrap();
    conversation.run("Second?").await.unwrap();
    let (texts, names) = seen.lock().unwrap().remove(0);
    let [first, hello, second, so_far, result, last] = &texts[..] else { panic!("{texts:?}") };
    assert_eq!([first, hello, second], ["user:First?", "model:Hello.", "user:Second?"]);
    assert_eq!([so_far, last], ["model:So far."; 2]);
    // As the model reads it, and not as the tool returned it.
    let kept = conversation.transcript();
    let read = kept.messages()[4].tool_results().next().unwrap().content.clone();
    assert_eq!(*result, format!("results:{read}"));
    assert!(!result.contains(&"x".repeat(41)), "{result}");
    assert_eq!(names, ["long", "look"]);
}

#[tokio::test]
async fn a_sub_agents_tool_sees_its_own_conversation_and_tools() {
    let (above, below) = (Seen::default(), Seen::default());
    let provider = ScriptedProvider::new([call("look"), ScriptedTurn::new().text("Below.")]);
    let agent = Agent::builder(provider).tool(look(&below)).build().unwrap();
    let ask = ScriptedTurn::new().call("helper", json!({ "task": "Look." }));
    let provider = ScriptedProvider::new([ask, call("look"), ScriptedTurn::new().text("Done.")]);
    let agent =
        Agent::builder(provider).tool(agent.into_tool("helper", "Helps.")).tool(look(&above));
    agent.build().unwrap().run("A secret.").await.unwrap();
    let (texts, names) = below.lock().unwrap().remove(0);
    assert_eq!(texts, ["user:Look.", "model:So far."]);
    assert_eq!(names, ["look"]);
    let (texts, names) = above.lock().unwrap().remove(0);
    assert_eq!(texts[0], "user:A secret.");
    assert_eq!(names, ["helper", "look"]);
}

#[tokio::test]
async fn tools_that_the_caller_may_not_use_are_not_among_them_and_found_ones_are() {
    let seen = Seen::default();
    let pay = tool_fn("pay", "Pays.", async |_: ToolContext, _: Nothing| "paid");
    let list = tool_fn("list", "Lists.", async |_: ToolContext, _: Nothing| "listed");
    let turns = || [call("look"), ScriptedTurn::new().text("Done.")];
    let provider = ScriptedProvider::new(turns().into_iter().chain(turns()));
    let search = ToolSearch::default().share(0).always(["look"]);
    let agent = Agent::builder(provider)
        .tool(look(&seen))
        .tool(pay.permission("till"))
        .tool(list)
        .tool_search(search)
        .permissions(NamedPermissions)
        .build()
        .unwrap();
    let ann = Caller::new("ann").permission("till");
    agent.run(RunInput::from("Go.").caller(ann)).await.unwrap();
    agent.run(RunInput::from("Go.").caller(Caller::new("bob"))).await.unwrap();
    let names: Vec<_> = std::mem::take(&mut *seen.lock().unwrap());
    let names = names.into_iter().map(|(_, names)| names).collect::<Vec<_>>();
    let has = |at: usize, name: &str| names[at].iter().any(|it| it == name);
    assert!(has(0, "pay") && has(0, "list") && has(0, "look"), "{names:?}");
    assert!(!has(1, "pay") && has(1, "list") && has(1, "look"), "{names:?}");
}

#[tokio::test]
async fn a_call_of_no_agent_sees_nothing() {
    let context = ToolContext::default();
    assert!(context.conversation().messages().is_empty());
    assert_eq!(context.tools().count(), 0);
}
