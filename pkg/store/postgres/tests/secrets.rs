//! Passwords: used, and in no message.

use std::fs;

use forgeline_store::{PostgresOptions, PostgresStore};

use crate::postgres::{PostgresServer, programs};

#[tokio::test]
async fn a_password_is_used_and_in_no_message() {
    let Some(programs) = programs().pop() else { return };
    let mut server = PostgresServer::start(&programs, &[]);
    let url = server.database();
    server.sql(
        "postgres",
        "CREATE ROLE ann LOGIN PASSWORD 'geheim'; GRANT ALL ON DATABASE test_0 TO ann",
    );
    fs::write(
        server.folder().join("data/pg_hba.conf"),
        "local all ann scram-sha-256\nlocal all all trust\n",
    )
    .unwrap();
    server.restart();
    let url = |password: &str| url.replace("tests@", &format!("ann{password}@"));
    let path = server.folder().join("password");
    fs::write(&path, "geheim\n").unwrap();
    for options in [
        PostgresOptions::new(url(":geheim")),
        PostgresOptions::new(url("")).password_file(&path),
        PostgresOptions::new(url(":wrong")).password_file(&path),
    ] {
        let store = PostgresStore::connect(options).await.unwrap();
        let shown = format!("{store:?}");
        assert!(shown.contains("test_0") && !shown.contains("geheim"), "{shown}");
    }
    fs::write(&path, "geheimnis\n").unwrap();
    for options in [
        PostgresOptions::new(url(":geheimnis")),
        PostgresOptions::new(url(":geheim")).password_file(&path),
        PostgresOptions::new(url("")),
    ] {
        let error = PostgresStore::connect(options).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("ann") || shown.contains("password"), "{shown}");
        assert!(!shown.contains("geheim"), "{shown}");
    }
}
