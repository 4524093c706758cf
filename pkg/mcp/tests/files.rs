//! Files as other clients write them.

use super::*;

fn messages(errors: &[crate::McpConfigError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn files_of_other_clients_are_read() {
    // What the clients write by themselves, with the members that they write.
    let cases = [
        (
            "Claude Desktop",
            r#"{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"K":"v"}}}}"#,
        ),
        (
            "Claude Code",
            r#"{"mcpServers":{"a":{"type":"stdio","command":"npx","args":[],"env":{}}}}"#,
        ),
        (
            "VS Code",
            "{\n  // mine\n  \"inputs\": [{\"id\":\"k\",\"type\":\"promptString\",\"password\":true}],\n  \"servers\": {\"a\":{\"type\":\"stdio\",\"command\":\"npx\",\"cwd\":\"/x\",\"gallery\":\"https://g\",\"version\":\"1\",},},\n}",
        ),
        ("Cursor", r#"{"mcpServers":{"a":{"command":"npx","args":["${env:KEY}"],"env":null}}}"#),
        (
            "Cline",
            r#"{"mcpServers":{"a":{"autoApprove":[],"disabled":false,"timeout":60,"type":"stdio","command":"npx","args":[]}}}"#,
        ),
        (
            "Roo",
            r#"{"mcpServers":{"a":{"command":"npx","alwaysAllow":[],"disabledTools":["rm"],"timeout":300}}}"#,
        ),
        (
            "Zed",
            r#"{"context_servers":{"a":{"source":"custom","enabled":true,"command":"npx","args":[],"env":{}}}}"#,
        ),
        (
            "Gemini",
            r#"{"mcpServers":{"a":{"httpUrl":"https://x/mcp","timeout":30000,"trust":false,"description":"d"}}}"#,
        ),
        ("Windsurf", r#"{"mcpServers":{"a":{"serverUrl":"https://x/mcp","headers":{}}}}"#),
        (
            "Cline, remote",
            r#"{"mcpServers":{"a":{"type":"streamableHttp","url":"https://x/mcp","headers":{},"disabled":false}}}"#,
        ),
    ];
    for (client, text) in cases {
        let config = config(text).unwrap_or_else(|error| panic!("{client}: {error}"));
        assert_eq!(config.servers.len(), 1, "{client}: {:?}", config.refused);
        assert!(config.warnings.is_empty() && config.refused.is_empty(), "{client}: {config:?}");
    }
}

#[test]
fn a_limit_is_in_seconds_or_milliseconds_and_has_a_bound() {
    let limit =
        |value: Value| server(&json!({ "command": "x", "timeout": value })).timeout.unwrap();
    let cases = [
        (json!(60), Duration::from_mins(1)),
        (json!(0.5), Duration::from_millis(500)),
        (json!(999), Duration::from_secs(999)),
        (json!(1_000), Duration::from_secs(1)),
        (json!(600_000), Duration::from_mins(10)),
        (json!(1e12), Duration::from_hours(1)),
    ];
    for (value, want) in cases {
        assert_eq!(limit(value.clone()), want, "{value}");
    }
}

#[test]
fn what_is_unknown_is_a_warning_and_what_is_wrong_refuses_its_server_alone() {
    let text = json!({
        "theme": "dark",
        "mcpServers": {
            "good": { "command": "x", "colour": "red", "autoApprove": ["f"], "envFile": ".env" },
            "off": { "command": "x", "disabled": true, "args": 7 },
            "off2": { "command": "x", "enabled": false },
            "bad": { "command": "x", "env": { "K": 5 } },
            "asks": { "command": "x", "env": { "K": "${input:key}" } },
            "remote": { "url": "https://x", "oauth": { "callbackPort": 1 }, "command": "" },
            "a name": { "command": "x" },
        },
    });
    let config = config(&text.to_string()).unwrap();
    let names: Vec<_> = config.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["good", "remote"]);
    assert_eq!(config.disabled, ["off", "off2"]);
    let refused = messages(&config.refused).join("\n");
    for want in [
        "`mcpServers.bad.env.K` is a number; expected a string",
        "`mcpServers.asks.env.K` has the input `key`",
        "`mcpServers.a name` is not a name of a server",
    ] {
        assert!(refused.contains(want), "{refused}");
    }
    assert_eq!(config.refused.len(), 3, "{refused}");
    let warnings = messages(&config.warnings).join("\n");
    for want in [
        "`theme` is unknown and has no effect",
        "`mcpServers.good.colour` is unknown and has no effect",
        "`mcpServers.good.autoApprove` has no effect: calls are allowed by a person, or by `--trust-mcp good`",
        "`mcpServers.good.envFile` has no effect",
        "`mcpServers.remote.oauth.callbackPort` is unknown and has no effect",
    ] {
        assert!(warnings.contains(want), "{warnings}");
    }
    assert_eq!(config.warnings.len(), 5, "{warnings}");
}

#[test]
fn a_server_that_is_required_and_wrong_fails_the_whole_file() {
    let text = r#"{"mcpServers":{"b":{"command":"x"},"a":{"command":1,"required":true}}}"#;
    assert_eq!(config(text).unwrap_err(), "`mcpServers.a.command` is a number; expected a string");
}

#[tokio::test]
async fn tools_that_the_file_leaves_out_are_not_offered() {
    let cases = [
        (json!({ "command": "x", "excludeTools": ["f"] }), vec!["mcp.s.g", "mcp.s.h"]),
        (json!({ "command": "x", "includeTools": ["f", "g"] }), vec!["mcp.s.f", "mcp.s.g"]),
        (json!({ "command": "x", "includeTools": ["f"], "disabledTools": ["f"] }), vec![]),
    ];
    for (members, want) in cases {
        let (servers, mut scripted) = greeted(members).await;
        let list = json!([listed("f"), listed("g"), listed("h")]);
        let tools = tools(&servers, &mut scripted, list).await;
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, want);
    }
}

#[tokio::test]
async fn the_limit_of_a_server_is_that_of_its_calls() {
    for (members, want) in [
        (json!({ "command": "x", "timeout": 90 }), Some(Duration::from_secs(90))),
        (json!({ "command": "x" }), None),
    ] {
        let (servers, mut scripted) = greeted(members).await;
        let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
        assert_eq!(tools[0].timeout(), want);
    }
}
