//! Connections by TLS.

use std::{
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    sync::Once,
};

use forgeline_store::{PostgresOptions, PostgresStore};

use crate::{
    postgres::{PostgresServer, give, programs},
    say,
};

fn openssl(folder: &Path, arguments: &str) -> bool {
    let mut command = Command::new("openssl");
    let command = command.args(arguments.split(' ')).current_dir(folder);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns `true` if a server was built with TLS.
fn has_tls(programs: &Path) -> bool {
    let built = Command::new(programs.join("pg_config")).arg("--configure").output();
    built.is_ok_and(|built| String::from_utf8_lossy(&built.stdout).contains("openssl"))
}

/// Returns a port that is free, and that no system gives to a connection before the server has it.
fn free_port() -> u16 {
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    (first..u16::MAX).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

#[tokio::test]
async fn a_certificate_is_verified() {
    static NOTICE: Once = Once::new();
    let Some(programs) = programs().into_iter().find(|programs| has_tls(programs)) else {
        NOTICE.call_once(|| {
            say("not run: PostgreSQL by TLS; no server that is installed has it; install Debian's");
        });
        return;
    };
    let port = free_port();
    let listens = ["listen_addresses=127.0.0.1", &format!("port={port}")];
    let mut server = PostgresServer::start(&programs, &listens);
    server.database();
    let folder = server.folder().to_owned();
    let authority = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
                     -addext basicConstraints=critical,CA:TRUE";
    let made = ["ca", "other"]
        .map(|name| openssl(&folder, &format!("{authority} -keyout {name}.key -out {name}.crt")));
    if made != [true, true] {
        NOTICE.call_once(|| say("not run: PostgreSQL by TLS; openssl is not installed"));
        return;
    }
    let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
                   -keyout server.key -out server.csr";
    assert!(openssl(&folder, request));
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    let sign = "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 \
                -extfile names -out server.crt";
    assert!(openssl(&folder, sign));
    for name in ["server.key", "server.crt"] {
        give(&folder.join(name));
    }
    let setting = |name: &str, value: &str| {
        server.sql("postgres", &format!("ALTER SYSTEM SET {name} = '{value}'"));
    };
    setting("ssl_key_file", folder.join("server.key").to_str().unwrap());
    setting("ssl_cert_file", folder.join("server.crt").to_str().unwrap());
    setting("ssl", "on");
    server.restart();
    let url = |mode: &str| format!("postgres://tests@localhost:{port}/test_0?sslmode={mode}");
    let connect = async |options: PostgresOptions| PostgresStore::connect(options).await;
    let trusted = PostgresOptions::new(url("verify-full")).root_certificates(folder.join("ca.crt"));
    connect(trusted).await.unwrap();
    let secured = "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                   WHERE ssl AND datname = 'test_0'";
    assert_eq!(server.sql("postgres", secured), "t");
    for options in [
        PostgresOptions::new(url("require")).root_certificates(folder.join("other.crt")),
        PostgresOptions::new(url("require")),
    ] {
        let error = connect(options).await.unwrap_err().to_string();
        assert!(error.contains("certificate"), "{error}");
    }
    let no_file = PostgresOptions::new(url("require")).root_certificates(folder.join("names"));
    let error = connect(no_file).await.unwrap_err().to_string();
    assert!(error.contains("names cannot be used: the file has none"), "{error}");
}
