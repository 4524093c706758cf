//! The modules of `pkg/` and which of them uses which.
//!
//! A module is a file, named by its path below `pkg/` whatever its crate: `pkg/llm/parser/lib.rs` is `llm::parser`. A
//! path leads to the file that defines the item: re-exports are seen through, and a `mod.rs` or `lib.rs` that only
//! declares and re-exports uses nothing.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::source::{Source, masks, root};

/// The longest chain of re-exports that is followed.
const MAX_STEPS: usize = 32;

/// One name that a `use` brings into scope.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    /// The words of the path; the last is `*` for a glob.
    path: Vec<String>,
    name: String,
    is_public: bool,
}

struct Module {
    imports: Vec<Import>,
    /// The code without imports and declarations of modules.
    body: String,
    /// The folder of the file, as a path of modules.
    folder: String,
}

/// A crate of the library.
pub(crate) struct RoomCrate {
    /// Its name in paths, such as `forgeline_llm`.
    pub(crate) name: String,
    /// The module that its root is, such as `llm`.
    pub(crate) module: String,
}

impl RoomCrate {
    /// The crates below `pkg/`: the folders of `files` that have a `Cargo.toml`.
    pub(crate) fn find(files: &[Source]) -> Vec<Self> {
        let roots = files.iter().filter(|file| file.path.ends_with("/lib.rs"));
        let crates = roots.filter_map(|file| {
            let manifest = root().join(file.path.strip_suffix("lib.rs")?).join("Cargo.toml");
            let manifest = std::fs::read_to_string(manifest).ok()?;
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
            Some(Self {
                name: name.trim_matches('"').replace('-', "_"),
                module: module(&file.path),
            })
        });
        crates.collect()
    }
}

/// The modules of a source tree; the facade's root has the empty name.
pub(crate) struct Graph {
    modules: BTreeMap<String, Module>,
    crates: Vec<RoomCrate>,
}

/// The modules that each module uses, each with a path that does so.
pub(crate) type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

impl Graph {
    pub(crate) fn new<'t>(
        crates: Vec<RoomCrate>,
        files: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Self {
        let parse = |(path, code): (&str, &str)| {
            let (imports, body) = take_imports(&masks(code).code);
            (module(path), Module { imports, body, folder: folder(path) })
        };
        Self { modules: files.into_iter().map(parse).collect(), crates }
    }

    pub(crate) fn from_files(files: &[Source]) -> Self {
        let crates = RoomCrate::find(files);
        let files = files.iter().map(|file| (file.path.as_str(), file.code()));
        Self::new(crates, files.filter(|(_, code)| !code.is_empty()))
    }

    /// The folders that each folder uses, each with a path that does so.
    pub(crate) fn folder_uses(&self) -> Uses<'_> {
        let mut folders = Uses::new();
        for (from, targets) in self.uses() {
            let from = self.modules[from].folder.as_str();
            let used = folders.entry(from).or_default();
            for (to, path) in targets {
                let to = self.modules[to].folder.as_str();
                if to != from {
                    used.entry(to).or_insert(path);
                }
            }
        }
        folders
    }

    /// The root of the crate that has `module`.
    fn crate_root(&self, module: &str) -> &str {
        let holds = |root: &str| {
            module.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let roots = self.crates.iter().map(|it| it.module.as_str()).filter(|root| holds(root));
        roots.max_by_key(|root| root.len()).unwrap_or_default()
    }

    pub(crate) fn contains(&self, module: &str) -> bool {
        self.modules.contains_key(module)
    }

    pub(crate) fn uses(&self) -> Uses<'_> {
        let targets = |name: &str, module: &Module| {
            let mut paths = if module.is_facade() { Vec::new() } else { module.paths() };
            paths.extend(self.glob_paths(name, &paths));
            let targets = paths.into_iter().filter_map(|path| {
                let target = self.resolve(name, &path, 0)?;
                let counts = target != name && !self.modules[target].is_facade();
                counts.then(|| (target, path.join("::")))
            });
            targets.collect()
        };
        self.modules.iter().map(|(name, module)| (name.as_str(), targets(name, module))).collect()
    }

    /// The paths behind the globs among the `paths` of `module`, as far as its code uses them.
    fn glob_paths(&self, module: &str, paths: &[Vec<String>]) -> Vec<Vec<String>> {
        let globs = paths.iter().filter_map(|path| path.strip_suffix(&["*".to_owned()]));
        let names = globs.flat_map(|glob| {
            let target = self.resolve(module, glob, 0).and_then(|it| self.modules.get(it));
            let imports = target.into_iter().flat_map(|target| &target.imports);
            let used = imports.filter(|import| has_word(&self.modules[module].body, &import.name));
            used.map(move |import| [glob, std::slice::from_ref(&import.name)].concat())
        });
        names.collect()
    }

    /// The module that defines what `path` names in the module `from`; `None` outside the crate.
    fn resolve(&self, from: &str, path: &[String], steps: usize) -> Option<&str> {
        let (first, mut rest) = path.split_first().filter(|_| steps < MAX_STEPS)?;
        let mut at = from.to_owned();
        if first == "crate" {
            self.crate_root(from).clone_into(&mut at);
        } else if let Some(other) = self.crates.iter().find(|it| it.name == *first) {
            at.clone_from(&other.module);
            // The items of `private` are re-exports too.
            rest = rest.strip_prefix(&["private".to_owned()]).unwrap_or(rest);
        } else if first == "self" || first == "super" {
            rest = path;
            while let Some((word, further)) = rest.split_first()
                && (word == "super" || word == "self")
            {
                if word == "super" {
                    at = at.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned();
                }
                rest = further;
            }
        } else if self.contains(&child(&at, first)) || self.import(from, first).is_some() {
            rest = path;
        } else {
            return None;
        }
        while let Some((word, further)) = rest.split_first() {
            let below = child(&at, word);
            if !self.contains(&below) {
                return self.item(&at, word, further, steps);
            }
            (at, rest) = (below, further);
        }
        self.modules.get_key_value(&at).map(|(name, _)| name.as_str())
    }

    /// The module that defines the item or import `word` of the module `here`.
    fn item(&self, here: &str, word: &str, rest: &[String], steps: usize) -> Option<&str> {
        let (name, module) = self.modules.get_key_value(here)?;
        if let Some(import) = self.import(here, word) {
            return self.resolve(here, &[&import.path[..], rest].concat(), steps + 1);
        }
        let globs = module.imports.iter().filter(|import| import.name == "*");
        let mut globs = globs.filter_map(|glob| {
            let (_, path) = glob.path.split_last()?;
            self.resolve(here, path, steps + 1)
        });
        let has = |target: &&str| {
            has_word(&self.modules[*target].body, word) || self.import(target, word).is_some()
        };
        match globs.find(has) {
            Some(target) if !has_word(&module.body, word) => {
                self.item(target, word, rest, steps + 1)
            }
            _ => Some(name),
        }
    }

    fn import(&self, module: &str, name: &str) -> Option<&Import> {
        let imports = &self.modules.get(module)?.imports;
        imports.iter().find(|import| {
            import.name == name && name != "*" && import.path.first().is_none_or(|it| it != name)
        })
    }
}

impl Module {
    fn is_facade(&self) -> bool {
        self.body.trim().is_empty()
    }

    /// Every path in the code; a re-export counts if the code uses its name.
    fn paths(&self) -> Vec<Vec<String>> {
        let used = self.imports.iter().filter(|it| !it.is_public || has_word(&self.body, &it.name));
        let mut found: Vec<_> = used.map(|import| import.path.clone()).collect();
        for path in self.body.split(|c: char| !is_word(c) && c != ':') {
            let words: Vec<_> = path
                .split("::")
                .take_while(|word| !word.is_empty() && !word.contains(':'))
                .collect();
            if words.len() > 1 {
                found.push(words.into_iter().map(str::to_owned).collect());
            }
        }
        found
    }
}

/// The groups of modules that all use each other, directly or by way of others; the largest first.
pub(crate) fn cycles<'a>(uses: &Uses<'a>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<_, _> = uses.keys().map(|from| (*from, reach(uses, from))).collect();
    let group = |from: &&&'a str| -> Vec<&'a str> {
        let mutual = reached[**from].iter().filter(|to| reached[**to].contains(**from));
        mutual.copied().collect()
    };
    let groups: BTreeSet<_> = uses.keys().map(|from| group(&from)).collect();
    let mut groups: Vec<_> = groups.into_iter().filter(|group| group.len() > 1).collect();
    groups.sort_by_key(|group| Reverse(group.len()));
    groups
}

/// Every module that `from` uses, directly or by way of others.
fn reach<'a>(uses: &Uses<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&'a str> = uses[from].keys().copied().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(uses[module].keys());
        }
    }
    found
}

/// The module that a file of `pkg/` is: `pkg/llm/sse/mod.rs` is `llm::sse`.
pub(crate) fn module(path: &str) -> String {
    let path = path.strip_prefix("pkg/").unwrap().strip_suffix(".rs").unwrap();
    let path = path.strip_suffix("/mod").or(path.strip_suffix("/lib")).unwrap_or(path);
    if path == "lib" { String::new() } else { path.replace('/', "::") }
}

/// The folder of a file of `pkg/`, as a path of modules.
fn folder(path: &str) -> String {
    let path = path.strip_prefix("pkg/").unwrap();
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.replace('/', "::"))
}

fn child(module: &str, word: &str) -> String {
    if module.is_empty() { word.to_owned() } else { format!("{module}::{word}") }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c| !is_word(c)).any(|found| found == word)
}

/// Returns the paths that `code` imports; the last word of a glob is `*`.
pub(crate) fn imported_paths(code: &str) -> impl Iterator<Item = Vec<String>> + use<> {
    take_imports(code).0.into_iter().map(|import| import.path)
}

/// Splits `code` into its imports and what is left without attributes and declarations of modules.
fn take_imports(code: &str) -> (Vec<Import>, String) {
    let (mut imports, mut body) = (Vec::new(), String::new());
    let mut rest = code;
    while let Some((before, behind)) = split_at_word(rest, "use") {
        let (tree, further) = behind.split_once(';').unwrap_or((behind, ""));
        let plain = without_visibility(before);
        body.push_str(plain);
        let is_public = plain.len() < before.trim_end().len();
        expand(tree, &[], &mut |path, name| imports.push(Import { path, name, is_public }));
        rest = further;
    }
    body.push_str(rest);
    let mut left = String::new();
    let mut rest = body.as_str();
    while let Some((before, behind)) = split_at_word(rest, "mod") {
        // A module in braces is code.
        let at = behind.find([';', '{']).unwrap_or(behind.len());
        let declaration = behind.split_at(at).1.strip_prefix(';');
        left.push_str(if declaration.is_some() { without_visibility(before) } else { before });
        rest = declaration.unwrap_or(behind);
    }
    left.push_str(rest);
    (imports, without_between(&without_between(&left, "#[", ['[', ']']), "pub(in ", ['(', ')']))
}

/// Removes each part of `text` from `start`, which opens a bracket, to the bracket that closes it:
/// attributes, and the scopes of visibilities, which are not uses.
fn without_between(text: &str, start: &str, [open, close]: [char; 2]) -> String {
    let mut parts = text.split(start);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut depth = 1;
        let end = part.find(|c| {
            depth += i32::from(c == open) - i32::from(c == close);
            depth == 0
        });
        left.push_str(end.map_or("", |end| part.split_at(end + 1).1));
    }
    left
}

/// Splits `text` around the first keyword `word`.
fn split_at_word<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let mut found = text.match_indices(word).map(|(at, _)| text.split_at(at));
    let (before, behind) = found.find(|(before, behind)| {
        let behind = behind.split_at(word.len()).1;
        behind.starts_with(char::is_whitespace) && !before.ends_with(is_word)
    })?;
    Some((before, behind.split_at(word.len()).1))
}

/// `text` without the `pub` or `pub(…)` at its end.
fn without_visibility(text: &str) -> &str {
    let text = text.trim_end();
    let scope = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let plain = scope.map_or(text, |(before, _)| before);
    plain.strip_suffix("pub").unwrap_or(text)
}

/// Calls `found` with the path and the name of each leaf of a `use` tree; returns what is after it.
fn expand<'t>(
    text: &'t str,
    prefix: &[String],
    found: &mut impl FnMut(Vec<String>, String),
) -> &'t str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
            rest = expand(rest, prefix, found).trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
            if rest.is_empty() {
                return rest;
            }
        }
    }
    let end = text.find(|c: char| !is_word(c) && c != '*').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let mut path = prefix.to_vec();
    if word != "self" || prefix.is_empty() {
        path.push(word.to_owned());
    }
    if let Some(rest) = rest.strip_prefix("::") {
        return expand(rest, &path, found);
    }
    let renamed = rest.trim_start().strip_prefix("as ").map(str::trim_start);
    let (name, rest) = renamed.map_or((path.last().cloned().unwrap_or_default(), rest), |rest| {
        let (name, rest) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        (name.to_owned(), rest)
    });
    found(path, name);
    rest
}
