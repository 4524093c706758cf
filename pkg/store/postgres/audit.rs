//! The audit store of [`PostgresStore`].

use tokio_postgres::Row;

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{
    AuditEvent, AuditHash, AuditHead, AuditPage, AuditQuery, AuditRow, AuditStore, EraseMode,
    StoreError, StoreFuture,
    audit::{AuditCursor, StoredAuditRow, stored_hash},
    integers::int,
};
use forgeline_types::Text;

/// Adds a row to the chain, whose head is locked: writers of all nodes follow one another. The database computes the hash of the row from the one before, as
/// `AuditRow` does. An event whose id is there already is not added.
const APPEND: &str = "
WITH placed AS (
    INSERT INTO forgeline.audit_head AS head (scope, next, hash)
    SELECT $1, 1, sha256(decode(repeat('00', 32), 'hex') || int8send(0) || $10)
    WHERE NOT EXISTS (SELECT FROM forgeline.audit WHERE scope = $1 AND id = $2)
    ON CONFLICT (scope) DO UPDATE
    SET next = head.next + 1, hash = sha256(head.hash || int8send(head.next) || $10)
    RETURNING next - 1 AS seq, hash),
added AS (
    INSERT INTO forgeline.audit (scope, seq, id, kind, source, at_ms, actor, owner, content, seal, hash)
    SELECT $1, seq, $2, $3, $4, $5, $6, $7, $8, $9, hash FROM placed)
SELECT seq FROM placed";

macro_rules! columns {
    () => {
        "SELECT seq, scope, id, kind, source, at_ms, actor, owner, content, seal, hash FROM forgeline.audit "
    };
}

const READ: &str = concat!(
    columns!(),
    "WHERE scope = $1 AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR source = $3) \
     AND ($4::text IS NULL OR actor = $4) AND ($5::bigint IS NULL OR at_ms >= $5) \
     AND ($6::bigint IS NULL OR at_ms < $6) AND ($7::bigint IS NULL OR (at_ms, seq) < ($7, $8)) \
     ORDER BY at_ms DESC, seq DESC LIMIT $9"
);

const CHAIN: &str = concat!(columns!(), "WHERE scope = $1 AND seq >= $2 ORDER BY seq LIMIT $3");

/// Cuts the oldest of the first 1,000 rows. All but the lock is of one snapshot: a row that comes meanwhile stays.
const CUT: &str = "
WITH locked AS MATERIALIZED (SELECT scope FROM forgeline.audit_head WHERE scope = $1 FOR UPDATE),
oldest AS MATERIALIZED (
    SELECT seq, at_ms, hash FROM forgeline.audit WHERE scope = (SELECT scope FROM locked)
    ORDER BY seq LIMIT 1000),
bound AS (
    SELECT greatest(
        coalesce(min(seq) FILTER (WHERE at_ms >= $2), max(seq) + 1),
        least((SELECT max(seq) + 1 FROM forgeline.audit WHERE scope = $1) - $3, max(seq) + 1)) AS first
    FROM oldest),
moved AS (
    UPDATE forgeline.audit_head AS head SET first = bound.first, anchor = oldest.hash
    FROM bound, oldest
    WHERE head.scope = $1 AND oldest.seq = bound.first - 1 AND head.first < bound.first
    RETURNING bound.first),
gone AS (
    DELETE FROM forgeline.audit USING moved
    WHERE audit.scope = $1 AND audit.seq < moved.first RETURNING 1)
SELECT count(*) FROM gone";

/// The statements that count and empty the rows of an owner.
const THEIRS: [&str; 3] = [
    "SELECT count(*) FROM forgeline.audit WHERE scope = $1 AND (actor = $2 OR owner = $2)",
    EMPTY,
    EMPTY,
];

const EMPTY: &str = "
WITH emptied AS (
    UPDATE forgeline.audit SET actor = '', owner = '', content = ''
    WHERE scope = $1 AND (actor = $2 OR owner = $2) RETURNING 1)
SELECT count(*) FROM emptied";

fn hash(row: &Row, at: usize) -> Result<AuditHash, StoreError> {
    stored_hash(column(row, at)?)
}

fn read_row(found: &Row) -> Result<AuditRow, StoreError> {
    let row = StoredAuditRow {
        seq: count(found, 0)?,
        scope: column(found, 1)?,
        id: column(found, 2)?,
        kind: column(found, 3)?,
        source: column(found, 4)?,
        at_ms: count(found, 5)?,
        actor: column(found, 6)?,
        owner: column(found, 7)?,
        content: column(found, 8)?,
        seal: column(found, 9)?,
        hash: column(found, 10)?,
    };
    row.read()
}

impl PostgresStore {
    /// Returns the number of an event that is there already.
    async fn audited(&self, scope: &str, event: &AuditEvent) -> Result<u64, StoreError> {
        let sql = "SELECT seq, seal FROM forgeline.audit WHERE scope = $1 AND id = $2";
        let id = event.id.as_str();
        let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope, id]).await?;
        let other = || StoreError::exists("audit event", event.id.clone());
        let row = row.ok_or_else(other)?;
        if hash(&row, 1)? == event.seal() { count(&row, 0) } else { Err(other()) }
    }
}

impl AuditStore for PostgresStore {
    fn append<'a>(&'a self, scope: &'a str, event: AuditEvent) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            event.check(scope)?;
            let seal = event.seal();
            let digest = event.digest(scope, &seal);
            let [id, kind, source, actor, owner] =
                [&event.id, &event.kind, &event.source, &event.actor, &event.owner]
                    .map(Text::as_str);
            let (content, at_ms) = (event.content()?, int(event.at_ms));
            let (content, seal, digest) = (content.as_str(), seal.as_bytes(), digest.as_bytes());
            let values =
                values![scope, id, kind, source, at_ms, actor, owner, content, seal, digest];
            match self.0.pool.row(RepeatRule::Safe, APPEND, values).await? {
                Some(row) => count(&row, 0),
                None => self.audited(scope, &event).await,
            }
        })
    }

    fn read(&self, query: AuditQuery) -> StoreFuture<'_, AuditPage> {
        Box::pin(async move {
            let after = AuditCursor::read(query.after.as_ref())?;
            let [kind, source, actor] =
                [&query.kind, &query.source, &query.actor].map(|text| text.as_deref());
            let (since, until) = (query.since_ms.map(int), query.until_ms.map(int));
            let (at_ms, seq) =
                (after.map(|after| int(after.at_ms)), after.map(|after| int(after.seq)));
            let (scope, most) = (query.scope.as_str(), int(query.most as u64).saturating_add(1));
            let values = values![scope, kind, source, actor, since, until, at_ms, seq, most];
            let rows = self.0.pool.rows(RepeatRule::Safe, READ, values).await?;
            let found = rows.iter().map(read_row).collect::<Result<Vec<_>, _>>()?;
            Ok(AuditPage::of(found, query.most))
        })
    }

    fn chain<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<AuditRow>> {
        Box::pin(async move {
            let (from, most) = (int(from), int(most as u64));
            let values = values![scope, from, most];
            let rows = self.0.pool.rows(RepeatRule::Safe, CHAIN, values).await?;
            rows.iter().map(read_row).collect()
        })
    }

    fn head<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, AuditHead> {
        Box::pin(async move {
            let sql = "SELECT first, anchor, next, hash FROM forgeline.audit_head WHERE scope = $1";
            let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope]).await?;
            let Some(row) = row else { return Ok(AuditHead::default()) };
            let (anchor, last) = (hash(&row, 1)?, hash(&row, 3)?);
            Ok(AuditHead::new(count(&row, 0)?, anchor, count(&row, 2)?, last))
        })
    }

    fn scopes<'a>(&'a self, after: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<Text>> {
        Box::pin(async move {
            let sql = "SELECT scope FROM forgeline.audit_head WHERE $1::text IS NULL OR scope > $1 \
                       ORDER BY scope LIMIT $2";
            let most = int(most as u64);
            let rows = self.0.pool.rows(RepeatRule::Safe, sql, values![after, most]).await?;
            rows.iter().map(|row| column::<&str>(row, 0).map(Text::from)).collect()
        })
    }

    fn cut<'a>(&'a self, scope: &'a str, before_ms: u64, keep: u64) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let (before, keep) = (int(before_ms), int(keep));
            let values = values![scope, before, keep];
            let row = self.0.pool.row(RepeatRule::Safe, CUT, values).await?;
            row.map_or(Ok(0), |row| count(&row, 0))
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        self.erase_owned(THEIRS, scope, owner, mode)
    }
}
