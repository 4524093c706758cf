//! `forgeline erase`: what a caller has in a database goes.

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use forgeline::store::{Durability, EraseMode, SqliteOptions};

use super::database::{OpenDatabase, PostgresFlags, StorePlace};
use crate::{
    exit::{Exit, note, usage},
    shown::shown_path,
};

/// `forgeline erase`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct EraseArgs {
    /// The caller whose conversations, runs, events and streams are erased; for a service without tokens, `local` in the scope `local`
    #[arg(value_name = "CALLER")]
    caller: String,
    /// The scope of the caller, as in the tokens file [default: one of its own]
    #[arg(long, value_name = "NAME")]
    scope: Option<String>,
    /// The file of `serve --database`; stop the service first, as it has the file open
    #[arg(long, value_name = "FILE", required_unless_present = "postgres")]
    database: Option<PathBuf>,
    #[command(flatten)]
    postgres: PostgresFlags,
    /// Keep the number, times and roles of the messages
    #[arg(long)]
    tombstone: bool,
    /// Only count; erase nothing
    #[arg(long, conflicts_with = "tombstone")]
    dry_run: bool,
}

/// Erases, and prints how much it was. Of what was erased nothing is left in the file, not in its free parts either.
///
/// # Errors
///
/// A database that does not exist, cannot be used, or is open in another process.
pub(crate) fn erase(args: &EraseArgs) -> anyhow::Result<Exit> {
    let place = place(args)?;
    let mode = match (args.dry_run, args.tombstone) {
        (true, _) => EraseMode::Count,
        (false, true) => EraseMode::Tombstone,
        (false, false) => EraseMode::Hard,
    };
    let own = || format!("caller:{}", args.caller);
    let scope = args.scope.clone().unwrap_or_else(own);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let erased = runtime.block_on(async {
        let database = OpenDatabase::open(&place).await?;
        let erased = database.erase(scope, &args.caller, mode).await;
        database.close().await;
        erased
    })?;
    let conversations = amount(erased.conversations, "conversation");
    let messages = amount(erased.messages, "message");
    let (runs, streams) = (amount(erased.runs, "run"), amount(erased.streams, "stream"));
    writeln!(anstream::stdout().lock(), "{conversations}, {messages}, {runs}, {streams}")?;
    if args.dry_run {
        note("nothing was erased");
    } else if place.file().is_none() {
        note(
            "dead rows, the log of PostgreSQL, replicas and backups keep copies for a time; `VACUUM` removes those in tables",
        );
    }
    Ok(Exit::Done)
}

/// Returns the place of the database, which exists.
fn place(args: &EraseArgs) -> anyhow::Result<StorePlace> {
    if let Some(place) = args.postgres.place()? {
        return Ok(place);
    }
    let path = args.database.clone().unwrap_or_default();
    if !path.is_file() {
        return Err(usage(format!("there is no database {}", shown_path(&path))));
    }
    // What was erased is gone after a power loss, too.
    Ok(StorePlace::File(SqliteOptions::new(path).durability(Durability::Power)))
}

fn amount(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
