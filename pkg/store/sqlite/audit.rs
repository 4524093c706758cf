//! The audit store of [`SqliteStore`].

use rusqlite::{Connection, Row, params};

use super::{
    SqliteStore,
    errors::store_error,
    owned_rows::OwnedRows,
    statements::{execute, int, number, read_rows, row, rows},
};
use crate::{
    AuditEvent, AuditHead, AuditPage, AuditQuery, AuditRow, AuditStore, EraseMode, StoreError,
    StoreFuture,
    audit::{AuditCursor, StoredAuditRow, stored_hash as hash},
};
use forgeline_types::Text;

/// Maximum number of rows that a cut removes.
const MAX_CUT: i64 = 1_000;

macro_rules! columns {
    () => {
        "SELECT seq, scope, event, kind, source, at_ms, actor, owner, content, seal, hash FROM audit "
    };
}

const READ: &str = concat!(
    columns!(),
    "WHERE scope = ?1 AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR source = ?3) \
     AND (?4 IS NULL OR actor = ?4) AND (?5 IS NULL OR at_ms >= ?5) AND (?6 IS NULL OR at_ms < ?6) \
     AND (?7 IS NULL OR (at_ms, seq) < (?7, ?8)) ORDER BY at_ms DESC, seq DESC LIMIT ?9"
);

fn read_row(found: &Row<'_>) -> Result<AuditRow, StoreError> {
    let text = |at: usize| found.get_ref(at).and_then(|it| Ok(it.as_str()?)).map_err(store_error);
    let bytes = |at: usize| found.get_ref(at).and_then(|it| Ok(it.as_blob()?)).map_err(store_error);
    let count = |at: usize| found.get::<_, i64>(at).map(number).map_err(store_error);
    let row = StoredAuditRow {
        seq: count(0)?,
        scope: text(1)?,
        id: text(2)?,
        kind: text(3)?,
        source: text(4)?,
        at_ms: count(5)?,
        actor: text(6)?,
        owner: text(7)?,
        content: text(8)?,
        seal: bytes(9)?,
        hash: bytes(10)?,
    };
    row.read()
}

fn head(connection: &Connection, scope: &str) -> Result<AuditHead, StoreError> {
    let sql = "SELECT first, anchor, next, hash FROM audit_head WHERE scope = ?";
    let found: Option<(i64, Vec<u8>, i64, Vec<u8>)> = row(connection, sql, [scope])?;
    let Some((first, anchor, next, last)) = found else { return Ok(AuditHead::default()) };
    Ok(AuditHead::new(number(first), hash(&anchor)?, number(next), hash(&last)?))
}

fn write_head(connection: &Connection, scope: &str, head: &AuditHead) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO audit_head (scope, first, anchor, next, hash) VALUES (?, ?, ?, ?, ?)";
    let AuditHead { first, anchor, next, hash } = head;
    let values = params![scope, int(*first), anchor.as_bytes(), int(*next), hash.as_bytes()];
    execute(connection, sql, values).map(drop)
}

fn append(connection: &Connection, scope: &str, event: &AuditEvent) -> Result<u64, StoreError> {
    let sql = "SELECT seq, seal FROM audit WHERE scope = ? AND event = ?";
    let earlier: Option<(i64, Vec<u8>)> = row(connection, sql, [scope, event.id.as_str()])?;
    if let Some((seq, seal)) = earlier {
        let is_same = seal == event.seal().as_bytes();
        let other = || StoreError::exists("audit event", event.id.clone());
        return is_same.then(|| number(seq)).ok_or_else(other);
    }
    let before = head(connection, scope)?;
    let added = AuditRow::new(scope, before.next, &before.hash, event.clone());
    let sql = "INSERT INTO audit (scope, seq, event, kind, source, at_ms, actor, owner, content, seal, hash) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let [id, kind, source, actor, owner] =
        [&event.id, &event.kind, &event.source, &event.actor, &event.owner].map(Text::as_str);
    let (content, at_ms) = (event.content()?, int(event.at_ms));
    let (seal, hash) = (added.seal.as_bytes(), added.hash.as_bytes());
    let values =
        params![scope, int(added.seq), id, kind, source, at_ms, actor, owner, content, seal, hash];
    execute(connection, sql, values)?;
    write_head(connection, scope, &before.and(&added))?;
    Ok(added.seq)
}

fn read(connection: &Connection, query: &AuditQuery) -> Result<AuditPage, StoreError> {
    let after = AuditCursor::read(query.after.as_ref())?;
    let [kind, source, actor] =
        [&query.kind, &query.source, &query.actor].map(|text| text.as_deref());
    let (since, until) = (query.since_ms.map(int), query.until_ms.map(int));
    let (at_ms, seq) = (after.map(|after| int(after.at_ms)), after.map(|after| int(after.seq)));
    let most = int(query.most as u64).saturating_add(1);
    let values = params![query.scope.as_str(), kind, source, actor, since, until, at_ms, seq, most];
    let found = read_rows(connection, READ, values, read_row)?;
    Ok(AuditPage::of(found, query.most))
}

fn chain(
    connection: &Connection,
    scope: &str,
    from: u64,
    most: usize,
) -> Result<Vec<AuditRow>, StoreError> {
    let sql = concat!(columns!(), "WHERE scope = ? AND seq >= ? ORDER BY seq LIMIT ?");
    read_rows(connection, sql, params![scope, int(from), int(most as u64)], read_row)
}

fn cut(connection: &Connection, scope: &str, before_ms: u64, keep: u64) -> Result<u64, StoreError> {
    let sql = "SELECT seq, at_ms, hash FROM audit WHERE scope = ? ORDER BY seq LIMIT ?";
    let oldest: Vec<(i64, i64, Vec<u8>)> = rows(connection, sql, params![scope, MAX_CUT])?;
    let mut head = head(connection, scope)?;
    let is_old = |(seq, at_ms, _): &&(i64, i64, Vec<u8>)| {
        number(*at_ms) < before_ms || head.next.saturating_sub(number(*seq)) > keep
    };
    let Some((last, _, anchor)) = oldest.iter().take_while(is_old).last() else { return Ok(0) };
    (head.first, head.anchor) = (number(*last) + 1, hash(anchor)?);
    let sql = "DELETE FROM audit WHERE scope = ? AND seq <= ?";
    let count = execute(connection, sql, params![scope, last])?;
    write_head(connection, scope, &head)?;
    Ok(count as u64)
}

/// The update of what an erasure removes.
const EMPTIED: &str = "UPDATE audit SET actor = '', owner = '', content = '' \
     WHERE scope = ?1 AND (actor = ?2 OR owner = ?2)";

const OWNED: OwnedRows = OwnedRows {
    count: "SELECT count(*) FROM audit WHERE scope = ?1 AND (actor = ?2 OR owner = ?2)",
    delete: &[EMPTIED],
    bury: EMPTIED,
};

impl AuditStore for SqliteStore {
    fn append<'a>(&'a self, scope: &'a str, event: AuditEvent) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            event.check(scope)?;
            let (bytes, scope) = (event.payload().len(), scope.to_owned());
            let write = move |connection: &Connection| append(connection, &scope, &event);
            self.0.writer.write(bytes, write).await
        })
    }

    fn read(&self, query: AuditQuery) -> StoreFuture<'_, AuditPage> {
        Box::pin(self.query(move |connection| read(connection, &query)))
    }

    fn chain<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<AuditRow>> {
        let scope = scope.to_owned();
        Box::pin(self.query(move |connection| chain(connection, &scope, from, most)))
    }

    fn head<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, AuditHead> {
        let scope = scope.to_owned();
        Box::pin(self.query(move |connection| head(connection, &scope)))
    }

    fn scopes<'a>(&'a self, after: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<Text>> {
        let after = after.map(str::to_owned);
        Box::pin(self.query(move |connection| {
            let sql = "SELECT scope FROM audit_head WHERE ?1 IS NULL OR scope > ?1 ORDER BY scope LIMIT ?2";
            let found: Vec<(String,)> = rows(connection, sql, params![after, int(most as u64)])?;
            Ok(found.into_iter().map(|(scope,)| scope.into()).collect())
        }))
    }

    fn cut<'a>(&'a self, scope: &'a str, before_ms: u64, keep: u64) -> StoreFuture<'a, u64> {
        let scope = scope.to_owned();
        Box::pin(async move {
            let write = move |connection: &Connection| cut(connection, &scope, before_ms, keep);
            let count = self.0.writer.write(0, write).await?;
            if count > 0 {
                self.deleted();
            }
            Ok(count)
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        self.erase_rows(&OWNED, scope, owner, mode)
    }
}
