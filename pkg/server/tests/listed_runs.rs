//! The list of runs: filters, pages, and who sees whose.

use std::collections::BTreeSet;

use super::*;

fn team() -> Router {
    let tokens = Tokens::new()
        .token("ann", Caller::new("ann").scope("team-a"))
        .token("bob", Caller::new("bob").scope("team-a").permission("service.runs"))
        .token("eve", Caller::new("eve").scope("team-e").permission("service.runs"));
    let asking = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().call("page", json!({})));
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let asking = Agent::builder(asking).tool(page).build().unwrap();
    let service = Service::builder().agent("main", chatty()).agent("asks", asking);
    router(service.identify(tokens).build().unwrap())
}

/// Returns the paths of the runs of all pages of a list.
async fn all(app: &Router, query: &str, token: &str) -> BTreeSet<String> {
    let (mut paths, mut count, mut after) = (BTreeSet::new(), 0, String::new());
    loop {
        let path = format!("/v1/runs?{query}{after}");
        let (status, page) = value(get(app, &path, token).await).await;
        assert_eq!(status, 200, "{query}: {page}");
        assert!(!page.to_string().contains("planted-word"), "{page}");
        let runs = page["runs"].as_array().unwrap();
        count += runs.len();
        paths
            .extend(runs.iter().map(|run| format!("/v1/runs/{}", run["run_id"].as_str().unwrap())));
        let Some(next) = page["next"].as_str() else {
            assert_eq!(paths.len(), count, "{query}: one twice");
            return paths;
        };
        after = format!("&after={next}");
    }
}

#[tokio::test]
async fn a_list_has_the_runs_of_its_caller_and_with_the_permission_those_of_the_scope() {
    let app = team();
    let asked = |agent: &str, conversation: &str| json!({ "input": "planted-word", "agent": agent, "conversation_id": conversation });
    let done = begin(&app, "ann", &asked("main", "c1")).await;
    until(&app, &done, "run_end").await;
    let waits = begin(&app, "ann", &asked("asks", "c2")).await;
    until(&app, &waits, "client_tool_request").await;
    let bobs = begin(&app, "bob", &asked("asks", "c3")).await;
    let eves = begin(&app, "eve", &asked("asks", "c1")).await;
    let set = |ids: &[&String]| ids.iter().map(|id| (*id).clone()).collect::<BTreeSet<_>>();
    // The state is stored behind the event.
    let stored = async {
        for query in ["status=completed", "status=waiting"] {
            while all(&app, query, "ann").await.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    };
    timeout(Duration::from_secs(30), stored).await.unwrap();
    for query in ["", "limit=1", "owner=ann", "since=0", "since=1&limit=1"] {
        assert_eq!(all(&app, query, "ann").await, set(&[&done, &waits]), "{query}");
    }
    for query in ["agent=main", "conversation=c1", "status=completed&agent=main"] {
        assert_eq!(all(&app, query, "ann").await, set(&[&done]), "{query}");
    }
    for query in ["agent=asks", "conversation=c2", "status=waiting"] {
        assert_eq!(all(&app, query, "ann").await, set(&[&waits]), "{query}");
    }
    for query in ["since=99999999999999", "status=failed", "conversation=c3", "agent=no"] {
        assert_eq!(all(&app, query, "ann").await, set(&[]), "{query}");
    }
    // Bob may list those of the team, which he does not find by their ids.
    for query in ["owner=*", "owner=*&limit=1"] {
        assert_eq!(all(&app, query, "bob").await, set(&[&done, &waits, &bobs]), "{query}");
        assert_eq!(all(&app, query, "eve").await, set(&[&eves]), "{query}");
    }
    assert_eq!(all(&app, "owner=ann", "bob").await, set(&[&done, &waits]));
    assert_eq!(all(&app, "", "bob").await, set(&[&bobs]));
    assert_eq!(all(&app, "owner=ann", "eve").await, set(&[]));
    assert_eq!(get(&app, &done, "bob").await.status(), 404);
    for query in ["owner=*", "owner=bob"] {
        assert_eq!(get(&app, &format!("/v1/runs?{query}"), "ann").await.status(), 403, "{query}");
    }
    for query in ["status=x", "limit=0", "limit=201", "after=x", "since=x", "scope=team-e"] {
        assert_eq!(get(&app, &format!("/v1/runs?{query}"), "ann").await.status(), 400, "{query}");
    }
    assert_eq!(get(&app, "/v1/runs", "").await.status(), 401);
}
