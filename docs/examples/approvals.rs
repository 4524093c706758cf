#![expect(clippy::print_stdout, reason = "an example: it prints what is asked and done")]
//! A loop that changes files: a person sees the diff of each change first, and says yes or no.

use std::{error::Error, path::Path};

use forgeline::{llm::demo::DemoProvider, prelude::*};

/// Works on `task` in the folder `root`; `decide` is asked before each call.
async fn work(
    provider: impl Provider + 'static,
    root: &Path,
    task: &str,
    decide: impl Fn(&ApprovalRequest) -> Decision + Send + Sync + 'static,
) -> Result<String, Box<dyn Error>> {
    let agent = Agent::builder(provider)
        .tool(Calculator)
        .tools(FileTools::new(root)?.into_changing_tools())
        .approval(ApprovalPolicy::Always)
        .approver(move |asked: ApprovalContext| std::future::ready(decide(&asked.request)))
        .build()?;
    Ok(agent.run(task).await?.text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let show = |request: &ApprovalRequest| {
        let shown = request.preview.as_ref().map_or(request.arguments.as_str(), |it| &it.text);
        println!("{}: {shown}", request.tool_name);
        Decision::Grant
    };
    println!("{}", work(DemoProvider::new(), Path::new("."), "What is 6 * 7?", show).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("forgeline-approved-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("notes.md"), "Buy tea.\n").unwrap();
            Self(path)
        }

        fn notes(&self) -> String {
            fs::read_to_string(self.0.join("notes.md")).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // A folder that is left over in the temporary folder harms nobody.
            let _removed = fs::remove_dir_all(&self.0);
        }
    }

    fn edit() -> ScriptedProvider {
        let arguments = json!({ "path": "notes.md", "old": "tea", "new": "salt" });
        let turn = ScriptedTurn::new().call("files.edit", arguments);
        ScriptedProvider::new([turn, ScriptedTurn::new().text("So be it.")])
    }

    #[tokio::test]
    async fn a_change_is_made_when_its_diff_is_approved() {
        let folder = Folder::new("yes");
        let decide = |request: &ApprovalRequest| {
            let diff = &request.preview.as_ref().unwrap().text;
            assert!(diff.contains("-Buy tea.\n+Buy salt.\n"), "{diff}");
            Decision::Grant
        };
        let said = work(edit(), &folder.0, "Salt, not tea.", decide).await.unwrap();
        assert_eq!((said.as_str(), folder.notes().as_str()), ("So be it.", "Buy salt.\n"));
    }

    #[tokio::test]
    async fn a_change_that_is_rejected_is_not_made() {
        let folder = Folder::new("no");
        let provider = edit();
        let decide = |_: &ApprovalRequest| Decision::reject("keep the tea");
        work(provider.clone(), &folder.0, "Salt, not tea.", decide).await.unwrap();
        assert_eq!(folder.notes(), "Buy tea.\n");
        let requests = provider.requests();
        let results = requests[1].messages.iter().flat_map(|message| message.tool_results());
        assert!(results.map(|it| &it.content).any(|text| text.contains("keep the tea")));
    }

    #[tokio::test]
    async fn the_demo_model_works_with_approval() {
        let folder = Folder::new("demo");
        let grant = |_: &ApprovalRequest| Decision::Grant;
        let said = work(DemoProvider::new(), &folder.0, "What is 6 * 7?", grant).await.unwrap();
        assert_eq!(said, "6 * 7 = 42");
    }
}
