//! Connections by TLS.

use std::{
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    sync::Once,
};

use forgeline_store::{NotificationChannel as _, RedisNotifications, RedisOptions};

use crate::{redis::RedisServer, say, servers::note};

fn openssl(folder: &Path, arguments: &str) -> bool {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns a port that is free, and that no system gives to a connection before the server has it.
fn free_port() -> u16 {
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    (first..u16::MAX).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

#[tokio::test]
async fn a_certificate_is_verified() {
    static NOTICE: Once = Once::new();
    if RedisServer::shared().is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("forgeline-redis-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let authority = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
                     -addext basicConstraints=critical,CA:TRUE";
    let made = ["ca", "other"]
        .map(|name| openssl(&folder, &format!("{authority} -keyout {name}.key -out {name}.crt")));
    if made != [true, true] {
        NOTICE.call_once(|| say("not run: Redis by TLS; openssl is not installed"));
        return;
    }
    let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
                   -keyout server.key -out server.csr";
    assert!(openssl(&folder, request));
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    let sign = "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 \
                -extfile names -out server.crt";
    assert!(openssl(&folder, sign));
    let port = free_port();
    let file = |name: &str| folder.join(name).display().to_string();
    let settings = [
        format!("--tls-port {port} --bind 127.0.0.1 --tls-auth-clients no"),
        format!("--tls-cert-file {} --tls-key-file {}", file("server.crt"), file("server.key")),
    ];
    let _server = RedisServer::start(&[&settings[0], &settings[1]]).unwrap();
    let options = || RedisOptions::new(format!("rediss://localhost:{port}"));
    let trusted = options().root_certificates(folder.join("ca.crt"));
    let channel = RedisNotifications::connect(trusted).await.unwrap();
    assert_eq!(channel.publish("a", note("x")).await.unwrap(), 0);
    for untrusted in [options().root_certificates(folder.join("other.crt")), options()] {
        let error = RedisNotifications::connect(untrusted).await.unwrap_err().to_string();
        assert!(error.contains("certificate"), "{error}");
    }
    drop(std::fs::remove_dir_all(&folder));
}
