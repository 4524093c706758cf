//! Bounds of what servers say of their tools.

use super::*;

#[tokio::test]
async fn a_long_description_is_cut_and_a_long_schema_leaves_its_tool_out() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let described = |name: &str, bytes: usize| {
        let mut tool = listed(name);
        tool["description"] = "é".repeat(bytes / 2).into();
        tool
    };
    let mut wide = listed("wide");
    wide["inputSchema"]["description"] = "y".repeat(64 << 10).into();
    let list = json!([described("whole", 8 << 10), described("cut", (8 << 10) + 10), wide]);
    let tools = tools(&servers, &mut scripted, list).await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["mcp.s.whole", "mcp.s.cut"]);
    assert_eq!(tools[0].description().len(), 8 << 10);
    let cut = tools[1].description();
    assert!(cut.ends_with("é… (10 bytes more of the description are left out)"), "{}", cut.len());
    let [error] = &*servers.left_out() else { panic!("{:?}", servers.left_out()) };
    let error = error.to_string();
    assert!(error.contains("the schema of tool `mcp.s.wide` has 65"), "{error}");
    assert!(error.contains("expected at most 65536"), "{error}");
}

#[tokio::test]
async fn all_tools_of_a_server_have_a_bound_together_and_names_in_errors_too() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let mut list: Vec<_> = (0..40).map(|at| listed(&format!("f{at}"))).collect();
    for tool in &mut list {
        tool["inputSchema"]["description"] = "y".repeat(60 << 10).into();
    }
    list.push(listed(&"n".repeat(10_000)));
    list.push(listed(&"n".repeat(59)));
    list.push(listed("small"));
    let tools = tools(&servers, &mut scripted, json!(list)).await;
    assert_eq!(tools.len(), 20, "17 large ones are a little less than 1 MiB");
    assert_eq!(tools[19].name(), "mcp.s.small");
    let left_out = servers.left_out();
    assert_eq!(left_out.len(), 23);
    assert!(left_out[0].to_string().contains("1048576"), "{}", left_out[0]);
    assert!(left_out.iter().all(|error| error.to_string().len() < 300));
}

#[tokio::test]
async fn of_a_server_with_thousands_of_tools_those_count_that_the_file_names() {
    let members = json!({ "command": "x", "required": true, "includeTools": ["f9-7", "f19-99"] });
    let (servers, mut scripted) = greeted(members).await;
    let pages = async {
        for page in 0..20 {
            let tools: Vec<_> = (0..100).map(|at| listed(&format!("f{page}-{at}"))).collect();
            let mut answer = json!({ "tools": tools });
            if page < 19 {
                answer["nextCursor"] = "on".into();
            }
            scripted.answer("tools/list", answer).await;
        }
    };
    let (tools, ()) = tokio::join!(servers.list(), pages);
    let names: Vec<_> = tools.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["mcp.s.f9-7", "mcp.s.f19-99"]);
}

#[tokio::test]
async fn a_schema_that_is_none_is_named_with_its_tool_and_the_rest_works() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let with = |name: &str, member: &str, value: Value| {
        let mut tool = listed(name);
        tool[member] = value;
        tool
    };
    let list = json!([
        listed("good"),
        with("text", "inputSchema", json!("an object")),
        with("list", "inputSchema", json!([])),
        with("null", "inputSchema", Value::Null),
        { "name": "missing" },
        with("odd", "inputSchema", json!({ "type": "objekt" })),
        with("hints", "annotations", json!("reads")),
        "no tool",
        with("last", "description", json!("Works.")),
    ]);
    let answers = async {
        for _ in 0..2 {
            scripted.answer("tools/list", json!({ "tools": list })).await;
        }
    };
    let (tools, ()) = tokio::join!(servers.list(), answers);
    let names: Vec<_> = tools.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["mcp.s.good", "mcp.s.hints", "mcp.s.last"]);
    let left_out: Vec<_> = servers.left_out().iter().map(ToString::to_string).collect();
    for name in ["text", "list", "null", "missing", "odd"] {
        let is_named = left_out.iter().any(|error| error.contains(&format!("`mcp.s.{name}`")));
        assert!(is_named, "{name}: {left_out:?}");
    }
    assert_eq!(left_out.len(), 6, "{left_out:?}");
}
