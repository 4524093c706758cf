//! `forgeline run` against llama.cpp's own server, whose model writes noise.

use std::path::Path;

use forgeline_testkit::llama::LlamaServer;

use crate::process::run;

#[test]
fn a_real_servers_noise_is_shown_and_the_command_succeeds() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama");
    let Some(server) = LlamaServer::start(&folder, &["<|im_end|>=13"]) else { return };
    for flags in [&[][..], &["--json"]] {
        let arguments = ["run", "--provider", "openai", "--base-url", &server.base_url];
        let outcome = run(&[&arguments[..], flags, &["hello"]].concat(), b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(!outcome.stdout.trim().is_empty(), "{outcome:?}");
        let is_raw = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(
            !outcome.stdout.contains(is_raw),
            "control characters are shown escaped: {outcome:?}"
        );
        if !flags.is_empty() {
            assert_eq!(outcome.completion()["complete"], true);
        }
    }
}
