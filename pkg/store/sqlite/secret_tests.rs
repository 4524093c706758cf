use crate::{
    SealedSecrets, SealingKeys, SecretError, SecretName, SecretScope, SecretStore as _,
    SecretValue, SqliteStore, sqlite_folder as folder,
};

const OLD: &str = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";
const NEW: &str = "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";

fn keys(text: &str) -> SealingKeys {
    SealingKeys::parse(text).unwrap()
}

fn name(text: &str) -> SecretName {
    SecretName::new(text).unwrap()
}

async fn read(store: &SealedSecrets, scope: &SecretScope, key: &str) -> String {
    store.get(scope, &name(key)).await.unwrap().unwrap().expose().to_owned()
}

#[tokio::test]
async fn a_stolen_file_gives_nothing_without_the_key_and_rotates_with_it() {
    let folder = folder("secrets-stolen");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let secrets = SealedSecrets::new(store.clone(), keys(OLD));
    for at in 0..200 {
        let scope = SecretScope::user(&format!("u{}", at % 20)).unwrap();
        let key = name(&format!("n{at}"));
        secrets
            .set(&scope, &key, SecretValue::new(format!("planted-key-{at}")).unwrap())
            .await
            .unwrap();
    }
    let finds = || {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut bytes = files.flat_map(|path| std::fs::read(path).unwrap());
        let bytes: Vec<u8> = bytes.by_ref().collect();
        memchr::memmem::find(&bytes, b"planted-key").is_some()
    };
    assert!(!finds());
    let thief = SealedSecrets::new(store.clone(), keys(NEW));
    let one = SecretScope::user("u1").unwrap();
    let refused = thief.get(&one, &name("n1")).await.unwrap_err();
    assert!(matches!(refused, SecretError::UnknownKey { .. }), "{refused}");
    let both = SealedSecrets::new(store.clone(), keys(&format!("{NEW}\n{OLD}")));
    assert_eq!(both.rotate().await.unwrap().rewritten, 200);
    assert_eq!(read(&thief, &one, "n1").await, "planted-key-1");
    assert_eq!(both.clear(&one).await.unwrap(), 10);
    store.close_file().await;
    assert!(!finds());
    drop((store, secrets, thief, both));
    let store = SqliteStore::open(&path).await.unwrap();
    let secrets = SealedSecrets::new(store.clone(), keys(NEW));
    let other = SecretScope::user("u2").unwrap();
    assert_eq!(read(&secrets, &other, "n2").await, "planted-key-2");
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}
