//! Skills in the whole prompt of an agent.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use forgeline_agent::{
    Agent, RunInput,
    config::CallMode,
    prompts::{
        ClockPrompt, FilePrompt, IdentityPrompt, ModulePrompts, ProjectPrompt, PromptContext,
        SystemPrompt, ToolFilesPrompt,
    },
    tools::{ToolContext, tool_fn},
};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};

use crate::Skills;

/// The whole order of a prompt, in our own words.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/system_prompt.md");

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("forgeline-prompts-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("project/server/orders")).unwrap();
        let files = [
            ("system.md", "You are the helper of a shop.\n"),
            ("tool-files.read.md", "\u{feff}Read before you answer.\r\n"),
            ("tool-secret.md", "Not offered."),
            ("outside.md", "outside"),
            ("project/AGENTS.md", "Prices are in cents.\n"),
            ("project/server/AGENTS.md", "\n\n"),
            ("project/server/orders/AGENTS.md", "Orders are never deleted.\n"),
        ];
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        Self(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn project(&self) -> ProjectPrompt {
        ProjectPrompt::new(self.0.join("project"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.0);
    }
}

fn all_parts(folder: &Folder, second: u64) -> Vec<Arc<dyn SystemPrompt>> {
    let clock =
        ClockPrompt::new().offset_minutes(60).now(move || UNIX_EPOCH + Duration::from_secs(second));
    let project = folder.project().name("shop").description("Sells bicycles.");
    vec![
        Arc::new(FilePrompt::new(folder.0.join("system.md"))),
        Arc::new(IdentityPrompt),
        Arc::new(ToolFilesPrompt::new(&folder.0)),
        Arc::new(project.working_folder("server/orders")),
        Arc::new(ModulePrompts::new().module("orders", "An order has a number.")),
        Arc::new(clock),
    ]
}

/// The ready parts, and between them what a program says of its servers, of failures, of its files and of what it
/// remembers; behind them the tools, of a model that calls in text.
// Covers: E-21, E-22, E-23, E-26, H-07, T-36, T-37
#[tokio::test]
async fn the_whole_prompt_is_that_of_the_golden_file() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    let folder = Folder::new("golden");
    fs::create_dir_all(folder.0.join("skills/refunds")).unwrap();
    let skill = "---\nname: refunds\ndescription: Gives money back.\n---\n\nAsk why first.\n";
    folder.write("skills/refunds/SKILL.md", skill);
    let skills = Skills::find([folder.0.join("skills")]);
    let mut parts = all_parts(&folder, 1_000_000_000);
    let clock = parts.pop().unwrap();
    let servers = "## Servers\n\nTools of the server `shop` begin with `mcp.shop.`.";
    let failures = "## When a tool fails\n\nRead what the error says, and change the arguments.";
    let files = "## Files\n\n- server/orders/list.csv, 2 KiB";
    let memories = |_: PromptContext| async {
        Ok("## What you remember\n\n- Ann rides a blue bicycle.".to_owned())
    };
    let behind: [Arc<dyn SystemPrompt>; 4] =
        [Arc::new(skills.prompt()), Arc::new(files), Arc::new(memories), clock];
    let before: [Arc<dyn SystemPrompt>; 2] = [Arc::new(servers), Arc::new(failures)];
    let project = parts.split_off(3);
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello.")]);
    let mut agent = Agent::builder(provider.clone()).call_mode(CallMode::Text);
    for part in parts.into_iter().chain(before).chain(project).chain(behind) {
        agent = agent.system(move |context: PromptContext| part.build(context));
    }
    let tool = |name| tool_fn(name, "Works.", |_: ToolContext, _: Nothing| async { "" });
    let secret = tool("secret").permission("secrets");
    let agent = agent
        .tool(tool("files.read"))
        .tool(secret)
        .tools([skills.tool()])
        .build()
        .unwrap()
        .conversation();
    agent.run(RunInput::from("Hi").module("orders")).await.unwrap();
    let text = provider.requests().remove(0).system.unwrap().to_string() + "\n";
    assert_eq!(text, fs::read_to_string(GOLDEN).unwrap(), "{text}");
}

/// What is wrong is named, with what to do, and the rest works.
#[tokio::test]
async fn bad_input_is_named_with_what_to_do_and_the_rest_works() {
    let folder = Folder::new("bad-input");
    folder.write("project/AGENTS.md", "a".repeat(10 << 20));
    folder.write("project/server/AGENTS.md", b"caf\xe9");
    fs::create_dir_all(folder.0.join("skills/good")).unwrap();
    fs::create_dir_all(folder.0.join("skills/bad")).unwrap();
    folder.write("skills/good/SKILL.md", "---\nname: good\ndescription: Works.\n---\nDo it.");
    folder.write("skills/bad/SKILL.md", "Just text.");
    let skills = Skills::find([folder.0.join("skills")]);
    let problems: Vec<_> = skills.problems().iter().map(ToString::to_string).collect();
    let none = "skills/bad/SKILL.md:1: there is no frontmatter; begin the file with a line `---`";
    assert!(problems.len() == 1 && problems[0].contains(none), "{problems:?}");

    let load =
        |name: &str| ScriptedTurn::new().call("load_skill", serde_json::json!({ "name": name }));
    let turns = || [load("ghost"), load("good"), ScriptedTurn::new().text("Done.")];
    let agent = |provider: &ScriptedProvider| {
        let project = folder.project().working_folder("server/orders");
        Agent::builder(provider.clone()).system(project).skills(&skills)
    };
    let provider = ScriptedProvider::new(turns());
    let outcome = agent(&provider).build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!(outcome.text, "Done.");
    let system = provider.requests()[0].system.clone().unwrap();
    let rest = "[The rest is left out: the instructions of a project have at most 32 KiB.]";
    let text = "[Left out: `server/AGENTS.md` is not UTF-8 from byte 3 on; save it as UTF-8.]";
    for part in [rest, text, "Orders are never deleted.", "<name>good</name>"] {
        assert!(system.contains(part), "{part}");
    }
    assert!(system.len() < 40 << 10, "{}", system.len());
    let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
    let unknown = "`name` is not the name of a skill; the skills are: `good`";
    assert!(results[0].content.contains(unknown), "{}", results[0].content);
    assert!(results[1].content.contains("Do it."), "{}", results[1].content);

    // A file of the program itself fails the run before the model is asked.
    let rows = [
        (folder.write("empty.md", ""), "it is empty; write the prompt into it"),
        (folder.write("latin.md", b"\xff"), "is not UTF-8 from byte 0 on; save it as UTF-8"),
    ];
    for (path, problem) in rows {
        let provider = ScriptedProvider::new(turns());
        let agent = agent(&provider).system(FilePrompt::new(&path)).build().unwrap().conversation();
        let error = agent.run("Go.").await.unwrap_err().to_string();
        assert!(error.contains(&*path.to_string_lossy()) && error.contains(problem), "{error}");
        assert_eq!(provider.requests().len(), 0);
    }
}
