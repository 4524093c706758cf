//! The checks for memory stores.

use std::sync::Arc;

use serde_json::json;

use super::stage::{AgentStage, report};
use crate::conformance::verdict::{CheckMiss, CheckVerdict, Report, hold};
use forgeline_agent::{
    Caller, RunInput,
    knowledge::{KnowledgeError, MemoryStore, MemoryTools, Note, Owner},
};
use forgeline_llm::scripted::ScriptedTurn;

/// Checks a memory store, which must be empty: by itself, for several owners, and behind the tools of an agent.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::knowledge::LocalMemoryStore, testing::conformance::agent::check_memory_store,
/// };
///
/// let report = check_memory_store(LocalMemoryStore::default());
/// assert!(report.is_conforming(), "{report}");
/// ```
#[must_use]
#[expect(clippy::too_many_lines, reason = "a list of checks")]
pub fn check_memory_store(store: impl MemoryStore + 'static) -> Report {
    let store: Arc<dyn MemoryStore> = Arc::new(store);
    let of = |name: &'static str| (store.clone(), owner(name, "pack"));
    let checks = vec![
        report("round-trip", "what is saved is loaded as it was", || async {
            let (store, ann) = of("trip");
            for text in ["I drink tea.", "Tee\n\u{1f375}\t\"und\" \\ mehr", "0"] {
                let key = format!("key {text}");
                save(&store, &ann, &key, text).await?;
                let got = store.load(ann.clone(), key.as_str().into()).await.map_err(failed)?;
                let is_same =
                    got.as_ref().is_some_and(|it| it.key == key.as_str() && it.text == text);
                hold(is_same, || format!("{text:?} came back as {got:?}"))?;
            }
            Ok(())
        }),
        report(
            "unknown",
            "a key that was not saved is not a memory, and not a failure",
            || async {
                let (store, ann) = of("unknown");
                let got = store.load(ann.clone(), "nothing".into()).await.map_err(failed)?;
                hold(got.is_none(), || format!("{got:?} was loaded"))?;
                let was_there = store.delete(ann, "nothing".into()).await.map_err(failed)?;
                hold(!was_there, || "what was not there is said to be deleted".to_owned())
            },
        ),
        report("repeated", "the same text may be saved again, and another is refused", || async {
            let (store, ann) = of("again");
            save(&store, &ann, "drink", "tea").await?;
            save(&store, &ann, "drink", "tea").await?;
            let got = store.save(ann.clone(), Note::new("drink", "coffee")).await;
            hold(matches!(got, Err(KnowledgeError::Taken { .. })), || format!("it gave {got:?}"))?;
            loads(&store, &ann, "drink", Some("tea")).await?;
            let keys = store.keys(ann, 9).await.map_err(failed)?;
            hold(keys == ["drink"], || format!("the keys are {keys:?}"))
        }),
        report("delete", "what is deleted is gone, and may be saved anew", || async {
            let (store, ann) = of("delete");
            save(&store, &ann, "drink", "tea").await?;
            let was_there = store.delete(ann.clone(), "drink".into()).await.map_err(failed)?;
            hold(was_there, || "what was there is said not to be".to_owned())?;
            loads(&store, &ann, "drink", None).await?;
            save(&store, &ann, "drink", "coffee").await?;
            loads(&store, &ann, "drink", Some("coffee")).await
        }),
        report("keys", "keys are listed in order, and at most as many as asked", || async {
            let (store, ann) = of("keys");
            for key in ["pear", "apple", "fig"] {
                save(&store, &ann, key, "fruit").await?;
            }
            let all = store.keys(ann.clone(), 9).await.map_err(failed)?;
            hold(all == ["apple", "fig", "pear"], || format!("the keys are {all:?}"))?;
            let two = store.keys(ann, 2).await.map_err(failed)?;
            hold(two == ["apple", "fig"], || format!("of two keys came {two:?}"))
        }),
        report("find", "a query finds what fits it, and at most as many as asked", || async {
            let (store, ann) = of("find");
            let texts = ["the pump is red", "the pump is old", "bread at noon"];
            for (key, text) in ["a", "b", "c"].into_iter().zip(texts) {
                save(&store, &ann, key, text).await?;
            }
            let find = |query: &str, most| store.find(ann.clone(), query.to_owned(), most);
            let got = find("bread", 9).await.map_err(failed)?;
            hold(got == [Note::new("c", texts[2])], || format!("`bread` found {got:?}"))?;
            let got = find("pump", 1).await.map_err(failed)?;
            let is_one = matches!(&got[..], [one] if one.text.contains("pump"));
            hold(is_one, || format!("it found {got:?}"))?;
            let got = find("aeroplane", 9).await.map_err(failed)?;
            hold(got.is_empty(), || format!("what is in none found {got:?}"))
        }),
        report("owners", "another owner neither reads, finds, lists nor deletes it", || async {
            let (store, ann) = of("ann");
            save(&store, &ann, "secret", "the pump is red").await?;
            for other in [owner("ben", "pack"), owner("ann", "other"), Owner::default()] {
                loads(&store, &other, "secret", None).await?;
                let found = store.find(other.clone(), "pump".into(), 9).await.map_err(failed)?;
                hold(found.is_empty(), || format!("{other:?} found {found:?}"))?;
                let keys = store.keys(other.clone(), 9).await.map_err(failed)?;
                hold(keys.is_empty(), || format!("{other:?} sees {keys:?}"))?;
                let deleted = store.delete(other.clone(), "secret".into()).await.map_err(failed)?;
                hold(!deleted, || format!("{other:?} deleted it"))?;
                save(&store, &other, "secret", "mine").await?;
                store.delete(other, "secret".into()).await.map_err(failed)?;
            }
            loads(&store, &ann, "secret", Some("the pump is red")).await
        }),
        report(
            "tools",
            "the tools of an agent save and load for the caller of the run",
            || async {
                let save = json!({ "key": "drink", "text": "green tea" });
                let mut stage = AgentStage::new(ScriptedTurn::new().call("memory.save", save));
                let tools = MemoryTools::new(Arc::clone(&store)).into_tools();
                stage.builder = stage.builder.tools(tools);
                let caller = || Caller::new("eve").scope("pack");
                let input = RunInput::from("Go.").caller(caller());
                let got =
                    stage.play(input, 1).await.map_err(|what| CheckMiss::Fails(vec![what]))?;
                let is_saved = got.results.iter().all(|(_, is_error)| !is_error);
                hold(is_saved && got.results.len() == 1, || format!("it gave {:?}", got.results))?;
                loads(&store, &owner("eve", "pack"), "drink", Some("green tea")).await
            },
        ),
    ];
    Report { checks }
}

fn owner(id: &str, scope: &str) -> Owner {
    Owner::of(Some(&Caller::new(id).scope(scope)))
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` expects")]
fn failed(error: KnowledgeError) -> CheckMiss {
    CheckMiss::Fails(vec![format!("it fails: {error}")])
}

async fn save(store: &Arc<dyn MemoryStore>, owner: &Owner, key: &str, text: &str) -> CheckVerdict {
    store.save(owner.clone(), Note::new(key, text)).await.map_err(failed)
}

/// Checks the memory under a key.
async fn loads(
    store: &Arc<dyn MemoryStore>,
    owner: &Owner,
    key: &str,
    want: Option<&str>,
) -> CheckVerdict {
    let got = store.load(owner.clone(), key.into()).await.map_err(failed)?;
    let text = got.as_ref().map(|note| note.text.as_str());
    hold(text == want, || format!("`{key}` of {owner:?} is {text:?}, not {want:?}"))
}
