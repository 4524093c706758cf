//! Stores, their files, and the index.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;

use super::{file, notes::OwnedNotes, *};
use crate::run::Caller;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("forgeline-knowledge-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("kept.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn ann() -> Owner {
    Owner::of(Some(&Caller::new("ann").scope("team-a")))
}

/// Owners that are not [`ann`].
fn others() -> Vec<Owner> {
    vec![
        Owner::default(),
        Owner::of(Some(&Caller::new("ben").scope("team-a"))),
        Owner::of(Some(&Caller::new("ann").scope("team-b"))),
        Owner::of(Some(&Caller::new("ann"))),
        Owner::of(Some(&Caller::new("team-a").scope("ann"))),
    ]
}

fn stores(folder: &Folder) -> Vec<Arc<dyn MemoryStore>> {
    vec![Arc::new(LocalMemoryStore::default()), Arc::new(FileMemoryStore::new(folder.file()))]
}

// Covers: E-12
#[tokio::test]
async fn e_12_memories_are_saved_loaded_found_and_deleted() {
    let folder = Folder::new();
    for store in stores(&folder) {
        let note = || Note::new("diet", "Ann eats no nuts.");
        assert_eq!(store.load(ann(), "diet".into()).await, Ok(None));
        assert_eq!(store.delete(ann(), "diet".into()).await, Ok(false));
        store.save(ann(), note()).await.unwrap();
        store.save(ann(), note()).await.unwrap();
        store.save(ann(), Note::new("car", "A red one.")).await.unwrap();
        let taken = store.save(ann(), Note::new("diet", "Nuts are fine.")).await;
        assert_eq!(taken, Err(KnowledgeError::Taken { key: "diet".into() }));
        assert_eq!(store.load(ann(), "diet".into()).await, Ok(Some(note())));
        assert_eq!(store.find(ann(), "NUTS".to_owned(), 5).await, Ok(vec![note()]));
        assert_eq!(store.find(ann(), "diet".to_owned(), 5).await, Ok(vec![note()]), "by its key");
        assert_eq!(store.keys(ann(), 9).await, Ok(vec!["car".into(), "diet".into()]));
        assert_eq!(store.keys(ann(), 1).await, Ok(vec!["car".into()]));
        assert_eq!(store.delete(ann(), "diet".into()).await, Ok(true));
        assert_eq!(store.load(ann(), "diet".into()).await, Ok(None));
    }
}

#[tokio::test]
async fn memories_of_another_caller_are_neither_read_nor_listed_nor_deleted() {
    let folder = Folder::new();
    for store in stores(&folder) {
        store.save(ann(), Note::new("diet", "Ann eats no nuts.")).await.unwrap();
        for other in others() {
            assert_eq!(store.load(other.clone(), "diet".into()).await, Ok(None), "{other:?}");
            assert_eq!(store.find(other.clone(), "nuts".to_owned(), 9).await, Ok(vec![]));
            assert_eq!(store.keys(other.clone(), 9).await, Ok(vec![]));
            assert_eq!(store.delete(other.clone(), "diet".into()).await, Ok(false));
            let own = Note::new("diet", "Anything.");
            store.save(other.clone(), own.clone()).await.unwrap();
            assert_eq!(store.load(other, "diet".into()).await, Ok(Some(own)));
        }
        let kept = store.load(ann(), "diet".into()).await.unwrap().unwrap();
        assert_eq!(kept.text, "Ann eats no nuts.");
    }
}

#[test]
fn notes_have_limits_and_room_comes_back() {
    let mut notes = OwnedNotes::default();
    let text = |bytes: usize| "x".repeat(bytes);
    let refused = [
        (Note::new("", "x"), KnowledgeError::Empty { what: "key" }),
        (Note::new("k", ""), KnowledgeError::Empty { what: "text" }),
        (
            Note::new(text(129), "x"),
            KnowledgeError::TooLarge { what: "key", bytes: 129, most: 128 },
        ),
        (
            Note::new("k", text(16_385)),
            KnowledgeError::TooLarge { what: "text", bytes: 16_385, most: 16_384 },
        ),
    ];
    for (note, want) in refused {
        assert_eq!(notes.save(&ann(), note), Err(want));
    }
    for number in 0..1_000 {
        notes.save(&ann(), Note::new(format!("{number}"), "x")).unwrap();
    }
    let full = Err(KnowledgeError::Full { what: "memories", most: 1_000 });
    assert_eq!(notes.save(&ann(), Note::new("more", "x")), full);
    assert!(notes.delete(&ann(), "7"));
    assert_eq!(notes.save(&ann(), Note::new("more", "x")), Ok(true));

    // One owner fills its share, and all owners the whole.
    let pour = |notes: &mut OwnedNotes, owner: &Owner| {
        let save =
            |number: usize| notes.save(owner, Note::new(format!("{number}"), text(16_000))).err();
        (0..).find_map(save).unwrap()
    };
    let mut notes = OwnedNotes::default();
    let owner = |number: usize| Owner { id: Some(format!("{number}").into()), scope: None };
    let most = 1 << 20;
    assert_eq!(
        pour(&mut notes, &owner(0)),
        KnowledgeError::Full { what: "bytes of memories", most }
    );
    let last = (1..17).map(|number| pour(&mut notes, &owner(number))).last().unwrap();
    let all = KnowledgeError::Full { what: "bytes of all memories", most: 16 << 20 };
    assert_eq!(last, all);
    assert!(notes.delete(&owner(0), "0"));
    assert_eq!(notes.save(&owner(16), Note::new("more", text(15_000))), Ok(true));
}

/// A file of two memories.
fn two() -> Vec<u8> {
    let mut notes = OwnedNotes::default();
    notes.save(&ann(), Note::new("car", "A red one.\nOld.")).unwrap();
    notes.save(&Owner::default(), Note::new("secret", "hunter2")).unwrap();
    notes.to_file().unwrap()
}

#[test]
fn a_damaged_file_is_an_error_with_line_and_byte_that_quotes_nothing() {
    let good = String::from_utf8(two()).unwrap();
    let damaged = |text: &[u8]| {
        let error = OwnedNotes::from_file(text).unwrap_err();
        let KnowledgeError::Damaged { line, offset, problem } = error else { panic!("{error:?}") };
        assert!(!problem.contains("hunter2"));
        (line, usize::try_from(offset).unwrap())
    };
    let starts: Vec<_> =
        std::iter::once(0).chain(good.match_indices('\n').map(|(at, _)| at + 1)).collect();
    assert_eq!(damaged(b""), (1, 0));
    assert_eq!(damaged(b"x"), (1, 1), "a line without its end");
    assert_eq!(damaged(b"[1]\n").0, 1);
    let at = good.find("\"text\":\"hunter2\"").unwrap();
    let (line, offset) =
        damaged(good.replace("\"text\":\"hunter2\"", "\"text\":!hunter2\"").as_bytes());
    assert_eq!((line, offset), (2, at + 7), "the byte itself");
    let mut bytes = good.clone().into_bytes();
    bytes[at + 9] = 0xff;
    assert_eq!(damaged(&bytes).0, 2);
    let again =
        format!("{good}{}", good.get(starts[2]..).unwrap()).replace("\"lines\":2", "\"lines\":3");
    assert_eq!(damaged(again.as_bytes()), (4, good.len()), "a key twice");
    let other = good.replace("memories", "anything");
    assert_eq!(damaged(other.as_bytes()), (1, 0), "another kind");
    let newer = good.replace("\"version\":1", "\"version\":2");
    let version = KnowledgeError::Version { found: 2, own: 1 };
    assert_eq!(OwnedNotes::from_file(newer.as_bytes()).unwrap_err(), version);
}

#[test]
fn a_file_that_is_cut_anywhere_is_noticed() {
    let good = two();
    for end in 0..good.len() {
        let cut = OwnedNotes::from_file(&good[..end]);
        assert!(matches!(cut, Err(KnowledgeError::Damaged { .. })), "cut at {end}: {cut:?}");
    }
    assert_eq!(OwnedNotes::from_file(&good).unwrap().to_file().unwrap(), good);
}

#[tokio::test]
async fn a_damaged_file_is_not_written_over_and_a_change_is_whole() {
    let folder = Folder::new();
    let store = FileMemoryStore::new(folder.file());
    fs::write(folder.file(), "not ours\n").unwrap();
    let error = store.save(ann(), Note::new("k", "x")).await.unwrap_err();
    assert!(matches!(error, KnowledgeError::Damaged { line: 1, .. }), "{error}");
    assert_eq!(fs::read_to_string(folder.file()).unwrap(), "not ours\n");

    fs::write(folder.file(), two()).unwrap();
    // What a process that was killed has left.
    fs::write(folder.0.join("kept.jsonl.new"), "half").unwrap();
    store.save(ann(), Note::new("k", "x")).await.unwrap();
    assert!(!folder.0.join("kept.jsonl.new").exists());
    let again = FileMemoryStore::new(folder.file());
    assert_eq!(again.keys(ann(), 9).await, Ok(vec!["car".into(), "k".into()]));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(folder.file()).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn one_changes_the_file_at_a_time_and_none_is_lost() {
    let folder = Folder::new();
    let held = file::lock(&folder.file()).unwrap();
    let store = FileMemoryStore::new(folder.file());
    let busy = store.save(ann(), Note::new("k", "x")).await;
    assert_eq!(busy, Err(KnowledgeError::Busy));
    drop(held);
    let saves: Vec<_> = (0..20)
        .map(|number| tokio::spawn(store.clone().save(ann(), Note::new(format!("{number}"), "x"))))
        .collect();
    for save in saves {
        save.await.unwrap().unwrap();
    }
    assert_eq!(store.keys(ann(), 99).await.unwrap().len(), 20);
}

proptest! {
    #[test]
    fn any_memories_come_back_from_their_file(
        kept in proptest::collection::vec((0..3_u8, "\\PC{1,9}", ".{1,40}"), 0..12),
    ) {
        let mut notes = OwnedNotes::default();
        for (owner, key, text) in kept {
            let owner = Owner { id: Some(format!("{owner}").into()), scope: None };
            let done = notes.save(&owner, Note::new(key, text));
            let is_kept = matches!(done, Ok(_) | Err(KnowledgeError::Taken { .. }));
            prop_assert!(is_kept, "{:?}", done);
        }
        let written = notes.to_file().unwrap();
        prop_assert_eq!(OwnedNotes::from_file(&written).unwrap().to_file().unwrap(), written);
    }
}

// Covers: E-13
#[tokio::test]
async fn e_13_an_index_finds_passages_and_comes_back_from_its_file() {
    let documents = [
        ("bridge.md", "The bridge was closed for nine days.".to_owned()),
        ("pump.md", format!("{}\n\nTurn the pump off first.", "Water. ".repeat(280))),
        ("橋.md", "新しい橋を架けた。".to_owned()),
    ];
    let index = LexicalIndex::new(documents.clone()).unwrap();
    let folder = Folder::new();
    index.write_to(folder.file()).await.unwrap();
    let read = LexicalIndex::read_from(folder.file()).await.unwrap();
    let mut reversed = documents;
    reversed.reverse();
    for index in [index, read, LexicalIndex::new(reversed).unwrap()] {
        let query = async |words: &str, most| -> Vec<(String, String)> {
            let found = index.query(ann(), words.to_owned(), most).await.unwrap();
            found.into_iter().map(|it| (it.document.to_string(), it.text)).collect()
        };
        let pump = query("switch off the PUMP", 9).await;
        assert_eq!(pump[0].0, "pump.md");
        assert!(pump[0].1.ends_with("Turn the pump off first."));
        assert!(pump.iter().all(|(_, text)| text.len() <= 2 << 10));
        assert_eq!(query("橋", 1).await[0].0, "橋.md");
        assert_eq!(query("quince", 9).await, []);
    }
}

#[tokio::test]
async fn an_index_says_what_is_wrong_with_its_file() {
    let folder = Folder::new();
    let missing = LexicalIndex::read_from(folder.file()).await.unwrap_err();
    assert_eq!(missing.to_string(), "the file does not exist; write the index first");
    fs::write(folder.file(), two()).unwrap();
    let error = LexicalIndex::read_from(folder.file()).await.unwrap_err();
    assert!(matches!(error, KnowledgeError::Damaged { line: 1, .. }), "{error}");
    let large = LexicalIndex::new([("a", "x".repeat((32 << 20) + 1))]).unwrap_err();
    assert!(matches!(large, KnowledgeError::TooLarge { .. }), "{large}");
}
