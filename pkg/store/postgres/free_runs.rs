//! The conditions under which a node may take a run, as parts of statements.

/// Selects from the runs that have no owner and may be claimed by now.
macro_rules! free_runs {
    () => {
        "FROM forgeline.run WHERE ended_ms IS NULL AND node IS NULL AND (not_before IS NULL OR not_before <= clock_timestamp())"
    };
}
pub(super) use free_runs;

/// The condition that a node is dead: its time is over, or its session keeps a lock that is free, and it has been silent. Argument: the parameter with that
/// silence, in milliseconds.
macro_rules! is_dead {
    ($silent:literal) => {
        concat!(
            "(node.until < clock_timestamp() OR node.has_lock AND node.beat_at < clock_timestamp() - ",
            $silent,
            " * interval '1 millisecond' AND NOT EXISTS (
                SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
                WHERE locktype = 'advisory' AND datname = current_database() AND classid = 1718579820
                AND objid = node.lock_key::oid AND objsubid = 2 AND granted))"
        )
    };
}
pub(super) use is_dead;

/// Selects from the runs of dead nodes. Arguments: the parameters with the node that reaps, and with the silence after which a node whose lock is free is
/// dead, in milliseconds.
macro_rules! lost_runs {
    ($reaper:literal, $silent:literal) => {
        concat!(
            "FROM forgeline.run LEFT JOIN forgeline.node ON node.id = run.node
            WHERE run.ended_ms IS NULL AND run.node IS NOT NULL AND run.node <> ",
            $reaper,
            " AND (node.id IS NULL OR ",
            $crate::postgres::free_runs::is_dead!($silent),
            ")"
        )
    };
}
pub(super) use lost_runs;
