//! The protocol by which many nodes share runs in one database, as a model whose every state is visited.
//!
//! # In the model
//!
//! One run with its log, head, epoch, owner and journal; a tool that must not run twice. Two nodes: their lives, sessions, beats and
//! what they hold in memory. The database, which fails over and frees every session lock. A reader, who resumes at a number on either
//! node. A client, who sends one command with a key until it is acknowledged. A step is one atomic statement, or one act
//! of a process between two statements. Faults are steps too, as many as [`Bounds`] allow: a node is killed, stopped, woken; a session
//! or the connection of a statement is cut, and that statement is lost, executed, or executed later; notifications and replies are
//! lost.
//!
//! Time is counted in ticks of [`TICK_SECONDS`]. A node that runs beats within a tick. It has its session back before the next
//! tick, and within one tick after a fail-over: where reconnecting takes longer than 10 s, the model promises nothing.
//!
//! # Promises
//!
//! [`Invariant`] lists them. All hold at each state; [`Invariant::RunEnds`] holds on the graph: from each state an end
//! can be reached without a further fault, while a stopped node stays stopped. Each [`Rule`] can be taken out, and `tests/it.rs` has
//! the promise that breaks then, with the length of the shortest trace.
//!
//! # Not in the model
//!
//! Two runs at once; several events in a statement; deltas and `synchronous_commit = off`; a standby that lacks the end of the log
//! (`log_behind`); the limit of takeovers; conversations, retention, packing; versions; poolers; more than two nodes; both
//! nodes out of service at the same time. A statement is atomic because the database makes it so: isolation is not proved here.
//!
//! # Why not stateright
//!
//! stateright 0.31 brings 38 crates, among them an HTTP server, and documents that its `eventually` is wrong on graphs with
//! cycles or joins, which this one has. `search.rs` has 120 lines and looks backwards from the ends instead.

mod moves;
mod protocol;
mod rules;
mod search;
mod state;
mod step;

pub use protocol::{Bounds, Command, Protocol};
pub use rules::{Rule, Rules};
pub use search::{Counterexample, Figures, Model, search};
pub use state::{
    Client, Database, Event, Hold, Invariant, Journal, Late, Life, Node, NodeId, Phase, Reader,
    Reading, Run, State, TICK_SECONDS, Task, Write,
};
pub use step::{Fate, Fault, Step};
