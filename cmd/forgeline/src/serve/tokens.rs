//! The file of tokens, and new tokens for it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use forgeline::{agent::Caller, server::Tokens};
use sha2::{Digest as _, Sha256};

use crate::{
    exit::{Exit, UsageResult as _, note},
    input::read_text,
    shown::shown_path,
};

/// Bytes of a token that are drawn.
const TOKEN_BYTES: usize = 32;

/// What each token begins with, so that one that was put somewhere by mistake is found.
const PREFIX: &str = "fl_";

/// `forgeline token`
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// The caller: the name of the person or program that will use the token
    #[arg(value_name = "CALLER", value_parser = word)]
    caller: String,
    /// The team or project whose notifications, streams and limits the caller shares [default: one of its own]
    #[arg(long, value_name = "NAME", value_parser = word)]
    scope: Option<String>,
    /// An additional permission of the caller, such as `service.observe`; may be given several times
    #[arg(long, value_name = "NAME", value_parser = word)]
    permission: Vec<String>,
    /// Add the token to this file of `serve --tokens`; only its SHA-256 is stored [default: print the line on stderr]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

fn word(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty()
        && text.len() <= 200
        && text != "-"
        && !text
            .chars()
            .any(|sign| sign.is_whitespace() || sign.is_control() || ",#".contains(sign));
    let expected = "expected a word of up to 200 bytes, without spaces, `,` or `#`";
    is_word.then(|| text.to_owned()).ok_or_else(|| expected.to_owned())
}

fn draw_token() -> anyhow::Result<String> {
    let mut drawn = [0; TOKEN_BYTES];
    getrandom::fill(&mut drawn)?;
    Ok(format!("{PREFIX}{}", hex(&drawn)))
}

/// Makes the token of a start without a tokens file; its caller may do all that programs of this machine may.
///
/// # Errors
///
/// When the system has no random numbers.
pub(super) fn start_token() -> anyhow::Result<(String, Tokens)> {
    let token = draw_token()?;
    let caller = Caller::new("local").scope("local");
    let caller = caller.permission("service.observe").permission("service.notify");
    let tokens = Tokens::new().token(&token, caller);
    Ok((token, tokens))
}

/// Makes a token, and shows it once.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn new_token(args: &TokenArgs) -> anyhow::Result<Exit> {
    let token = draw_token()?;
    let scope = args.scope.as_deref().unwrap_or("-");
    let permissions = args.permission.join(",");
    let digest = hex(&Sha256::digest(&token));
    let line = format!("sha256:{digest} {} {scope} {permissions}", args.caller);
    let line = line.trim_end();
    match &args.file {
        Some(path) => {
            let advice = || format!("cannot write {}; name another file", shown_path(path));
            add(path, line).usage_context(advice)?;
            note(&format!("added to {}; the token is shown only once:", path.display()));
        }
        None => note(&format!("add this line to the file of `serve --tokens`:\n{line}")),
    }
    writeln!(anstream::stdout().lock(), "{token}")?;
    Ok(Exit::Done)
}

fn add(path: &Path, line: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true).read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    let text = fs::read(path)?;
    let gap = if text.last().is_some_and(|last| *last != b'\n') { "\n" } else { "" };
    file.write_all(format!("{gap}{line}\n").as_bytes())
}

/// Reads the file: a token a line, as `sha256:HEX CALLER SCOPE PERMISSION,PERMISSION`.
///
/// # Errors
///
/// All that is wrong with it, a line each. No token is in them.
pub(super) fn read_tokens(path: &Path) -> Result<Tokens, Vec<String>> {
    let name = path.display().to_string();
    let tokens = read_any_tokens(path)?;
    if tokens.is_empty() {
        return Err(vec![format!(
            "{name}: the file has no tokens; `forgeline token NAME --file {name}` adds one"
        )]);
    }
    Ok(tokens)
}

/// Reads the file like [`read_tokens`], which may have no tokens any more.
///
/// # Errors
///
/// All that is wrong with it, a line each. No token is in them.
pub(super) fn read_any_tokens(path: &Path) -> Result<Tokens, Vec<String>> {
    let text = read_text(path).map_err(|error| vec![format!("{error:#}")])?;
    parse(&path.display().to_string(), &text)
}

fn parse(name: &str, text: &str) -> Result<Tokens, Vec<String>> {
    let (mut tokens, mut wrong) = (Tokens::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match entry(line) {
            Ok((digest, caller)) => tokens = tokens.digest(digest, caller),
            Err(why) => wrong.push(format!("{name}:{}: {why}", at + 1)),
        }
    }
    if wrong.is_empty() { Ok(tokens) } else { Err(wrong) }
}

fn entry(line: &str) -> Result<([u8; 32], Caller), &'static str> {
    let mut fields = line.split_whitespace();
    let digest = fields.next().and_then(|field| field.strip_prefix("sha256:"));
    let digest = digest.and_then(unhex).ok_or(
        "expected `sha256:` and 64 hexadecimal digits first; `forgeline token` creates such a line",
    )?;
    let caller = fields.next().ok_or("expected the name of the caller after the digest")?;
    let scope = fields.next().unwrap_or("-");
    let permissions = fields.next().unwrap_or_default();
    if fields.next().is_some() {
        return Err("expected at most a digest, a caller, a scope and comma-separated permissions");
    }
    let mut found = Caller::new(caller);
    if scope != "-" {
        found = found.scope(scope);
    }
    let permissions = permissions.split(',').filter(|name| !name.is_empty() && *name != "-");
    Ok((digest, permissions.fold(found, Caller::permission)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    let digits: Option<Vec<_>> = text.chars().map(|sign| sign.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() == 64)?;
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        let number = pair.iter().fold(0, |number, digit| number * 16 + digit);
        *byte = u8::try_from(number).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_has_callers_and_all_errors_are_listed() {
        let digest = "ab".repeat(32);
        let good = format!(
            "# ours\nsha256:{digest} ann team-a service.observe,files.read\n\nsha256:{} bob\n",
            "cd".repeat(32)
        );
        assert_eq!(parse("t", &good).unwrap().len(), 2);
        let bad =
            format!("s3cret-token ann\nsha256:abc ann\nsha256:{digest}\nsha256:{digest} a b c d\n");
        let wrong = parse("t", &bad).unwrap_err();
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        assert!(wrong[1].starts_with("t:2: ") && !wrong.concat().contains("s3cret"), "{wrong:?}");
        assert!(parse("t", "# none\n").unwrap().is_empty());
        let (found, caller) = entry(&format!("sha256:{digest} ann team-a x,y")).unwrap();
        assert_eq!((found[0], caller.scope.as_deref()), (0xab, Some("team-a")));
        assert!(caller.has_permission("x") && caller.has_permission("y"));
    }

    #[test]
    fn caller_names_are_single_words() {
        for wrong in ["", "-", "a b", "a,b", "a#b", "a\nb"] {
            assert!(word(wrong).is_err(), "{wrong:?}");
        }
        assert!(word("ann@example.org").is_ok());
    }
}
