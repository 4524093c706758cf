//! Texts that nobody wrote with calls in mind: sources and documents of the crates, the packages and
//! the toolchain that a build brings.

mod made;

use std::{
    collections::BTreeMap,
    env, fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::fixtures::files;

/// A kind of text, the endings of its files, the names of its fences, and the number of texts.
type Kind = (&'static str, &'static [&'static str], &'static [&'static str], usize);

#[rustfmt::skip]
const KINDS: [Kind; 8] = [
    ("Markdown",   &["md"],                 &[],                                   340),
    ("Rust",       &["rs"],                 &[],                                   420),
    ("JSON",       &["json", "lock"],       &["json"],                             140),
    ("XML",        &["xml", "svg"],         &["xml"],                              120),
    ("HTML",       &["html"],               &["html"],                             160),
    ("Python",     &["py"],                 &["python", "py"],                     200),
    ("JavaScript", &["js", "ts"],           &["js", "javascript", "ts"],           120),
    ("JSX",        &["jsx", "tsx"],         &["jsx", "tsx"],                        60),
];

/// The shortest file, fence and longest text that is read, in bytes.
const MIN_BYTES: usize = 200;
const MIN_FENCE_BYTES: usize = 40;
const MAX_BYTES: usize = 16 << 10;

/// The environment variable that makes missing texts a failure.
const REQUIRED: &str = "FORGELINE_REQUIRE_BODIES";

/// A text, its kind and its position.
#[derive(Debug, Clone)]
pub struct NeutralText {
    /// The kind, such as `Rust`.
    pub kind: &'static str,
    /// The path, with the number of the fence in it.
    pub place: String,
    /// The text itself.
    pub text: String,
}

/// The texts, and what was counted while they were chosen.
#[derive(Debug, Default)]
pub struct NeutralTexts {
    /// The texts, kind by kind.
    pub texts: Vec<NeutralText>,
    /// The number of texts of each kind: those that were read, and those that were made up for the
    /// missing.
    counts: BTreeMap<&'static str, [usize; 2]>,
    /// The number of texts that document a marker, and were left out.
    excluded: usize,
}

impl NeutralTexts {
    /// Returns the number of texts that were read, without those that were made up.
    #[must_use]
    pub fn count(&self) -> usize {
        self.counts.values().map(|[read, _]| read).sum()
    }

    fn add(&mut self, kind: &'static str, mut texts: Vec<NeutralText>, place: usize) {
        if let Some(count) = self.counts.entry(kind).or_default().get_mut(place) {
            *count += texts.len();
        }
        self.texts.append(&mut texts);
    }
}

impl fmt::Display for NeutralTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} neutral texts", self.count())?;
        for (kind, [read, made]) in &self.counts {
            write!(f, ", {read} {kind}")?;
            if *made > 0 {
                write!(f, " and {made} made up")?;
            }
        }
        write!(f, "; {} left out that document a marker", self.excluded)
    }
}

/// Reads `times` as many texts as a run of the tests has, chosen the same way each time; with fewer
/// than `least` of them, more of Rust.
///
/// # Panics
///
/// Panics when there are fewer than `least` although `FORGELINE_REQUIRE_BODIES` is set.
#[must_use]
pub fn texts(times: usize, least: usize) -> NeutralTexts {
    let packages: Vec<_> = packages().iter().map(|package| files(package)).collect();
    let mut all = NeutralTexts::default();
    let mut spare = Vec::new();
    for (kind, endings, fences, count) in KINDS {
        let wanted = count * times;
        let limit = if kind == "Rust" { wanted.max(least) } else { wanted };
        let mut found = choose(kind, endings, &packages, limit, &mut all.excluded);
        if found.len() < limit && !fences.is_empty() {
            let limit = limit - found.len();
            found.append(&mut fenced(kind, fences, &packages, limit, &mut all.excluded));
        }
        if kind == "Rust" {
            spare = found.split_off(found.len().min(wanted));
        }
        let missing = wanted - found.len();
        all.add(kind, found, 0);
        if !fences.is_empty() {
            all.add(kind, made::texts(kind, missing), 1);
        }
    }
    spare.truncate(least.saturating_sub(all.count()));
    all.add("Rust", spare, 0);
    if all.count() < least {
        assert!(env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, but there are only {all}");
        crate::say(format!("not run: {least} neutral texts, because there are only {all}"));
    }
    all
}

/// Chooses files with these endings: one of each package, then another of each.
fn choose(
    kind: &'static str,
    endings: &[&str],
    packages: &[Vec<PathBuf>],
    limit: usize,
    excluded: &mut usize,
) -> Vec<NeutralText> {
    let mut texts = Vec::new();
    for path in in_turn(endings, packages) {
        if texts.len() == limit {
            break;
        }
        let Some(text) = read_text(path).filter(|text| text.len() >= MIN_BYTES) else { continue };
        if documents_a_marker(&text) {
            *excluded += 1;
        } else {
            texts.push(NeutralText { kind, place: path.display().to_string(), text });
        }
    }
    texts
}

/// Chooses fences of Markdown and of the documentation in Rust.
fn fenced(
    kind: &'static str,
    languages: &[&str],
    packages: &[Vec<PathBuf>],
    limit: usize,
    excluded: &mut usize,
) -> Vec<NeutralText> {
    let mut texts = Vec::new();
    for path in in_turn(&["md", "rs"], packages) {
        let Some(text) = fs::read_to_string(path).ok() else { continue };
        for (number, text) in fences(&text, languages).into_iter().enumerate() {
            if texts.len() == limit {
                return texts;
            }
            if documents_a_marker(&text) {
                *excluded += 1;
            } else if text.len() >= MIN_FENCE_BYTES {
                let place = format!("{}, fence {number}", path.display());
                texts.push(NeutralText { kind, place, text });
            }
        }
    }
    texts
}

/// Lists the files with these endings, one of each package, then another of each.
fn in_turn<'p>(endings: &[&str], packages: &'p [Vec<PathBuf>]) -> Vec<&'p PathBuf> {
    let mut ranked: Vec<(usize, usize, &PathBuf)> = Vec::new();
    for (package, files) in packages.iter().enumerate() {
        let ending = |path: &Path| {
            path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_owned()
        };
        let mut own: Vec<_> =
            files.iter().filter(|path| endings.contains(&&*ending(path))).collect();
        own.sort_by_key(|path| scattered(path));
        ranked.extend(own.into_iter().enumerate().map(|(rank, path)| (rank, package, path)));
    }
    ranked.sort();
    ranked.into_iter().map(|(_, _, path)| path).collect()
}

/// A number for a file's name that puts files in an order of its own, the same each time.
fn scattered(path: &Path) -> u64 {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Reads a text; a long one is cut at a line end.
fn read_text(path: &Path) -> Option<String> {
    let mut text = String::from_utf8(fs::read(path).ok()?).ok()?;
    if text.len() > MAX_BYTES {
        let end = text.floor_char_boundary(MAX_BYTES);
        text.truncate(end);
        text.truncate(text.rfind('\n').map_or(end, |line_end| line_end + 1));
    }
    Some(text)
}

/// Lists the content of fences of these languages.
fn fences(text: &str, languages: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let line = bare.strip_prefix("///").or_else(|| bare.strip_prefix("//!"));
        let line = line.map_or(bare, |line| line.strip_prefix(' ').unwrap_or(line));
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(text), None) => *text = [text, line, "\n"].concat(),
            (None, Some(info)) => {
                let language = info.split(',').next().unwrap_or_default().trim();
                open = Some(String::new()).filter(|_| languages.contains(&language));
            }
            (None, None) => {}
        }
    }
    all
}

/// Tells a text that spells a special token or a tag of calls or reasoning, and so speaks of them.
fn documents_a_marker(text: &str) -> bool {
    const SPELLED: [&str; 12] = [
        "<｜",
        "◁think▷",
        "◁/think▷",
        "[TOOL_CALLS]",
        "[THINK]",
        "[/THINK]",
        "]<]minimax[>[",
        "<tool_call>",
        "<tool_calls>",
        "<function_calls>",
        "<think>",
        "</think>",
    ];
    let is_token = |behind: &str| {
        let name = behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        name.len() < behind.len() && name.starts_with("|>")
    };
    SPELLED.iter().any(|spelled| text.contains(spelled)) || text.split("<|").skip(1).any(is_token)
}

/// The folders of single packages: crates, Python packages, books of the toolchain.
fn packages() -> Vec<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let registries = cargo.map(|cargo| below(&cargo.join("registry/src"))).unwrap_or_default();
    let crates = registries.iter().flat_map(|registry| below(registry));
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let environments = below(&repository.join("target/llama-venv/lib"));
    let installed = environments.iter().flat_map(|python| below(&python.join("site-packages")));
    let library =
        output("python3", &["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]);
    let library = library.map(|path| below(Path::new(&path))).unwrap_or_default();
    let library = library
        .into_iter()
        .filter(|path| !path.ends_with("site-packages") && !path.ends_with("dist-packages"));
    let sysroot = output("rustc", &["--print", "sysroot"]);
    let books = sysroot.map(|it| below(&Path::new(&it).join("share/doc/rust/html")));
    crates.chain(installed).chain(library).chain(books.unwrap_or_default()).collect()
}

/// The line that a program prints; `None` without such a program.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Lists the folders in a folder, in the order of their names.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}
