//! Tests of keys, of rows that were changed, and of rotation.

use super::*;
use crate::InMemoryStore;

const OLD: &str = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";
const NEW: &str = "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";

fn keys(text: &str) -> SealingKeys {
    SealingKeys::parse(text).unwrap()
}

fn name(text: &str) -> SecretName {
    SecretName::new(text).unwrap()
}

fn value(text: &str) -> SecretValue {
    SecretValue::new(text).unwrap()
}

fn ann() -> SecretScope {
    SecretScope::user("ann").unwrap()
}

async fn read(store: &SealedSecrets, scope: &SecretScope, key: &str) -> String {
    store.get(scope, &name(key)).await.unwrap().unwrap().expose().to_owned()
}

#[tokio::test]
async fn any_changed_byte_of_a_row_is_refused_with_a_typed_error() {
    let rows = InMemoryStore::new();
    let secrets = SealedSecrets::new(rows.clone(), keys(OLD));
    secrets.set(&ann(), &name("openai"), value("sk-1")).await.unwrap();
    let whole = rows.row("user-ann", "openai").await.unwrap().unwrap();
    for at in 0..whole.sealed.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed.sealed[at] ^= 1 << bit;
            rows.put(changed, MAX_SECRETS).await.unwrap();
            let refused = secrets.get(&ann(), &name("openai")).await.unwrap_err();
            assert_eq!(refused, SecretError::changed("openai"), "{at}, {bit}");
        }
        let mut cut = whole.clone();
        cut.sealed.truncate(at);
        rows.put(cut, MAX_SECRETS).await.unwrap();
        assert!(secrets.get(&ann(), &name("openai")).await.is_err(), "cut at {at}");
    }
    for at in 0..whole.key.len() {
        let mut key = whole.key.to_string().into_bytes();
        key[at] = if key[at] == b'0' { b'1' } else { b'0' };
        let mut changed = whole.clone();
        changed.key = String::from_utf8(key).unwrap().into();
        rows.put(changed, MAX_SECRETS).await.unwrap();
        let refused = secrets.get(&ann(), &name("openai")).await.unwrap_err();
        assert!(matches!(refused, SecretError::UnknownKey { .. }), "{refused}");
    }
    rows.put(whole, MAX_SECRETS).await.unwrap();
    assert_eq!(read(&secrets, &ann(), "openai").await, "sk-1");
}

#[tokio::test]
async fn a_row_that_is_moved_to_another_scope_name_or_key_does_not_open() {
    let rows = InMemoryStore::new();
    let secrets = SealedSecrets::new(rows.clone(), keys(&format!("{OLD}\n{NEW}")));
    secrets.set(&ann(), &name("openai"), value("sk-1")).await.unwrap();
    let whole = rows.row("user-ann", "openai").await.unwrap().unwrap();
    let known = keys(&format!("{OLD}\n{NEW}"));
    let (own, other) = (keys(OLD).first_id().to_owned(), keys(NEW).first_id().to_owned());
    for (container, at, key) in [
        ("user-bob", "openai", &own),
        ("team-ann", "openai", &own),
        ("_platform", "openai", &own),
        ("user-ann", "other", &own),
        ("user-ann", "openai", &other),
    ] {
        let moved = SecretRow::new(container, at, key.as_str(), whole.sealed.clone());
        rows.put(moved.clone(), MAX_SECRETS).await.unwrap();
        let refused = known.open(container, &name(at), &moved).unwrap_err();
        assert_eq!(refused, SecretError::changed(at), "{container} {at} {key}");
    }
    let bob = SecretScope::user("bob").unwrap();
    let refused = secrets.get(&bob, &name("openai")).await.unwrap_err();
    assert_eq!(refused, SecretError::changed("openai"));
}

#[tokio::test]
async fn the_same_value_is_never_stored_as_the_same_bytes() {
    let rows = InMemoryStore::new();
    let secrets = SealedSecrets::new(rows.clone(), keys(OLD));
    let mut seen = std::collections::HashSet::new();
    for _ in 0..100 {
        secrets.set(&ann(), &name("openai"), value("sk-1")).await.unwrap();
        let row = rows.row("user-ann", "openai").await.unwrap().unwrap();
        assert!(seen.insert(row.sealed[1..25].to_vec()), "a nonce was used twice");
    }
}

#[tokio::test]
async fn a_rotation_rewrites_all_and_the_old_key_is_needed_no_more() {
    let rows = InMemoryStore::new();
    let old = SealedSecrets::new(rows.clone(), keys(OLD));
    let users: Vec<_> = (0..130).map(|at| SecretScope::user(&format!("u{at}")).unwrap()).collect();
    for user in &users {
        old.set(user, &name("one"), value("sk-1")).await.unwrap();
        old.set(user, &name("two"), value("sk-2")).await.unwrap();
    }
    let both = SealedSecrets::new(rows.clone(), keys(&format!("# new\n{NEW}\n\n# old\n{OLD}\n")));
    assert_eq!(read(&both, &users[7], "two").await, "sk-2", "all keys decrypt");
    both.set(&ann(), &name("one"), value("sk-3")).await.unwrap();
    assert!(matches!(old.get(&ann(), &name("one")).await, Err(SecretError::UnknownKey { .. })));
    // One that no key opens stays as it is.
    let foreign = SecretRow::new("user-u3", "foreign", "77", vec![1; 60]);
    rows.put(foreign.clone(), MAX_SECRETS).await.unwrap();
    let done = both.rotate().await.unwrap();
    assert_eq!(done.rewritten, 260);
    assert_eq!(done.unreadable, [("user-u3".into(), "foreign".into())]);
    assert_eq!(rows.row("user-u3", "foreign").await.unwrap(), Some(foreign));
    assert_eq!(both.rotate().await.unwrap().rewritten, 0);
    let new = SealedSecrets::new(rows.clone(), keys(NEW));
    for user in &users {
        assert_eq!(read(&new, user, "one").await, "sk-1");
        assert_eq!(read(&new, user, "two").await, "sk-2");
    }
}

#[tokio::test]
async fn a_secret_that_is_set_during_a_rotation_stays_as_it_was_set() {
    let rows = InMemoryStore::new();
    let old = SealedSecrets::new(rows.clone(), keys(OLD));
    old.set(&ann(), &name("one"), value("sk-1")).await.unwrap();
    let read_before = rows.row("user-ann", "one").await.unwrap().unwrap();
    old.set(&ann(), &name("one"), value("sk-2")).await.unwrap();
    let rewritten = keys(NEW).seal("user-ann", "one", &value("sk-1")).unwrap();
    assert!(!rows.replace(read_before, rewritten).await.unwrap());
    assert_eq!(read(&old, &ann(), "one").await, "sk-2");
}

#[test]
fn wrong_keys_are_refused_and_never_shown() {
    let refused = |text: &str| {
        let error = SealingKeys::parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("0f0f"), "{error}");
        error
    };
    assert_eq!(refused(""), SealingKeyError::Count { found: 0, most: 16 });
    assert_eq!(refused("# none\n"), SealingKeyError::Count { found: 0, most: 16 });
    let (shorter, shortest) = (OLD.replacen('0', "", 1), OLD.replacen("0f", "", 1));
    assert_eq!(refused(&shorter), SealingKeyError::Malformed { number: 1 });
    assert_eq!(refused(&format!("{OLD}, {OLD}0")), SealingKeyError::Malformed { number: 2 });
    assert_eq!(refused(&format!("{shortest}é")), SealingKeyError::Malformed { number: 1 });
    assert_eq!(refused(&format!("+f{shortest}")), SealingKeyError::Malformed { number: 1 });
    let upper = OLD.to_uppercase();
    assert_eq!(refused(&format!("{OLD}\n{upper}")), SealingKeyError::Twice { number: 2 });
    let many: Vec<_> = (0..17).map(|at| format!("{at:064x}")).collect();
    assert_eq!(refused(&many.join(",")), SealingKeyError::Count { found: 17, most: 16 });
    assert_eq!(keys(&many[..16].join(",")).ids().count(), 16);
    assert_eq!(
        SealingKeys::from_variable("FORGELINE_NO_SUCH_KEY").unwrap_err(),
        SealingKeyError::Missing { name: "FORGELINE_NO_SUCH_KEY".to_owned() }
    );
    let shown = format!("{:?}", keys(OLD));
    assert!(!shown.contains("0f0f") && shown.len() < 40, "{shown}");
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::temp_dir().join(format!("forgeline-key-{}", std::process::id()));
    std::fs::write(&path, format!("{OLD}\n")).unwrap();
    let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
    for mode in [0o644, 0o640, 0o604, 0o610] {
        set(mode).unwrap();
        let refused = SealingKeys::from_file(&path).unwrap_err();
        assert_eq!(refused, SealingKeyError::OpenToOthers { path: path.clone() });
        assert!(refused.to_string().contains("chmod 600"));
    }
    set(0o600).unwrap();
    assert_eq!(format!("{:?}", SealingKeys::from_file(&path).unwrap()), format!("{:?}", keys(OLD)));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(SealingKeys::from_file(&path), Err(SealingKeyError::Unreadable { .. })));
    let folder = SealingKeys::from_file(std::env::temp_dir());
    assert!(matches!(folder, Err(SealingKeyError::Unreadable { .. })));
}

#[test]
fn names_ids_and_values_have_bounds_and_errors_do_not_repeat_them() {
    for wrong in ["", "a/b", "a b", "ä", "a\n", &"n".repeat(129)] {
        assert!(SecretName::new(wrong).is_err(), "{wrong:?}");
    }
    for right in ["a", ".", "..", "-", &"n".repeat(128)] {
        assert!(SecretName::new(right).is_ok(), "{right}");
    }
    for wrong in ["", "a\0", "a\nb", &"i".repeat(1_025)] {
        assert!(SecretScope::user(wrong).is_err() && SecretScope::team(wrong).is_err());
    }
    let long = "planted".repeat(3_000);
    for wrong in [String::new(), long] {
        let refused = SecretValue::new(wrong).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("planted"), "{refused}");
    }
    assert_eq!(format!("{:?}", value("planted")), "SecretValue(…)");
}

#[tokio::test]
async fn secrets_of_the_environment_are_the_platforms_and_are_not_changed() {
    // Each process has this variable.
    let (known, unset) = (name("path"), name("unset"));
    let secrets = EnvironmentSecrets::new()
        .variable(known.clone(), "PATH")
        .variable(unset.clone(), "FORGELINE_NO_SUCH_KEY");
    let platform = SecretScope::platform();
    let found = secrets.get(&platform, &known).await.unwrap().unwrap();
    assert_eq!(found.expose(), std::env::var("PATH").unwrap());
    assert!(secrets.get(&platform, &unset).await.unwrap().is_none());
    assert_eq!(secrets.names(&platform).await.unwrap(), std::slice::from_ref(&known));
    for other in [ann(), SecretScope::team("a").unwrap()] {
        assert!(!secrets.has(&other, &known).await.unwrap());
        assert_eq!(secrets.names(&other).await.unwrap(), []);
    }
    let refused = secrets.set(&platform, &known, value("planted")).await.unwrap_err();
    assert!(matches!(refused, SecretError::ReadOnly { .. }), "{refused}");
    assert!(!refused.to_string().contains("planted"));
    let refused = secrets.delete(&platform, &known).await.unwrap_err();
    assert!(matches!(refused, SecretError::ReadOnly { .. }), "{refused}");
}

mod in_files {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::StoreError;

    fn folder(name: &str) -> PathBuf {
        let name = format!("forgeline-secret-files-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder.join("secrets")
    }

    fn all_files(folder: &Path) -> Vec<PathBuf> {
        let mut all = vec![folder.to_owned()];
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { all.extend(all_files(&path)) } else { all.push(path) }
        }
        all
    }

    fn gone(folder: &Path) {
        std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_their_owner_can_read_them_and_they_show_no_value() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder("modes");
        let secrets = SealedSecrets::new(SecretFiles::open(&folder).await.unwrap(), keys(OLD));
        for scope in [ann(), SecretScope::platform()] {
            secrets.set(&scope, &name("openai"), value("planted-key")).await.unwrap();
        }
        for path in all_files(&folder) {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
            if path.is_file() {
                let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
                assert!(!text.contains("planted-key"), "{text}");
            }
        }
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o750)).unwrap();
        let refused = SecretFiles::open(&folder).await.unwrap_err();
        assert!(refused.to_string().contains("chmod 700"), "{refused}");
        gone(&folder);
    }

    #[tokio::test]
    async fn a_damaged_swapped_or_half_written_file_gives_no_secret() {
        let folder = folder("damaged");
        let files = SecretFiles::open(&folder).await.unwrap();
        let secrets = SealedSecrets::new(files.clone(), keys(OLD));
        let bob = SecretScope::user("bob").unwrap();
        secrets.set(&ann(), &name("openai"), value("sk-1")).await.unwrap();
        secrets.set(&bob, &name("openai"), value("sk-2")).await.unwrap();
        let path = |of: &str| {
            let all = all_files(&folder);
            let has = |path: &&PathBuf| {
                path.is_file() && std::fs::read_to_string(path).unwrap().contains(of)
            };
            all.iter().find(has).unwrap().clone()
        };
        let (anns, bobs) = (path("user-ann"), path("user-bob"));
        let whole = std::fs::read(&anns).unwrap();
        // What a process that was killed left beside it.
        std::fs::write(anns.with_extension("new"), &whole[..9]).unwrap();
        assert_eq!(read(&secrets, &ann(), "openai").await, "sk-1");
        assert_eq!(secrets.names(&ann()).await.unwrap(), [name("openai")]);
        secrets.set(&ann(), &name("openai"), value("sk-3")).await.unwrap();
        assert!(!anns.with_extension("new").exists());
        // Every shorter file, and another's.
        let now = std::fs::read(&anns).unwrap();
        for end in 0..now.len() {
            std::fs::write(&anns, &now[..end]).unwrap();
            let refused = secrets.get(&ann(), &name("openai")).await.unwrap_err();
            let is_corrupt = matches!(refused, SecretError::Store(StoreError::Corrupt { .. }));
            assert!(is_corrupt, "{end}: {refused}");
        }
        std::fs::copy(&bobs, &anns).unwrap();
        let refused = secrets.get(&ann(), &name("openai")).await.unwrap_err();
        assert_eq!(refused, SecretError::changed("openai"));
        assert!(secrets.names(&ann()).await.is_err());
        secrets.set(&ann(), &name("openai"), value("sk-4")).await.unwrap();
        assert_eq!(read(&secrets, &ann(), "openai").await, "sk-4");
        gone(&folder);
    }

    #[tokio::test]
    async fn two_handles_of_a_folder_see_the_same_secrets_and_rotate_them() {
        let folder = folder("two");
        let one = SealedSecrets::new(SecretFiles::open(&folder).await.unwrap(), keys(OLD));
        for at in 0..9 {
            one.set(&ann(), &name(&format!("n{at}")), value("sk-1")).await.unwrap();
        }
        let both = keys(&format!("{NEW},{OLD}"));
        let other = SealedSecrets::new(SecretFiles::open(&folder).await.unwrap(), both);
        assert_eq!(other.rotate().await.unwrap().rewritten, 9);
        assert!(matches!(one.get(&ann(), &name("n3")).await, Err(SecretError::UnknownKey { .. })));
        assert_eq!(other.clear(&ann()).await.unwrap(), 9);
        assert_eq!(one.names(&ann()).await.unwrap(), []);
        gone(&folder);
    }

    #[tokio::test]
    async fn a_place_that_can_be_no_folder_is_named() {
        let folder = folder("nowhere");
        let file = folder.parent().unwrap().join("file");
        std::fs::write(&file, "").unwrap();
        for nowhere in [file.clone(), file.join("below"), folder.join("not/there")] {
            let refused = SecretFiles::open(&nowhere).await.unwrap_err();
            let is_named = refused.to_string().contains(&*nowhere.to_string_lossy());
            assert!(is_named, "{refused}");
        }
        gone(&folder);
    }
}
