//! The steps by name, as a trace prints them.

use std::fmt;

use crate::state::{Event, NodeId};

/// The fate of a statement whose client lost the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It never reached the database.
    Lost,
    /// It was executed; the reply was lost.
    Executed,
    /// It is executed later, or never.
    Late,
}

impl Fate {
    /// All fates.
    pub const ALL: [Self; 3] = [Self::Lost, Self::Executed, Self::Late];
}

/// A kind of fault or disturbance, which the bounds allow or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A node is killed.
    Crash,
    /// A node is stopped.
    Sleep,
    /// The database fails over.
    FailOver,
    /// The session of a living node is cut.
    CutSession,
    /// A connection is lost in a statement.
    CutStatement,
    /// A notification is lost.
    LoseNotify,
    /// The reply to the client is lost.
    LoseReply,
    /// A reader resumes on the other node.
    Move,
    /// A node hands its run over.
    HandOver,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Crash,
        Self::Sleep,
        Self::FailOver,
        Self::CutSession,
        Self::CutStatement,
        Self::LoseNotify,
        Self::LoseReply,
        Self::Move,
        Self::HandOver,
    ];
}

/// A step of one process, of the database or of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// 5 s pass; nodes that live beat.
    Tick,
    /// The database fails over: sessions and locks are gone.
    DatabaseDown,
    /// The database serves again.
    DatabaseUp,
    /// A node opens its session, takes its lock and beats.
    Connect(NodeId),
    /// The session of a node is cut.
    CutSession(NodeId),
    /// A node is stopped.
    Sleep(NodeId),
    /// A node goes on.
    Wake(NodeId),
    /// A node is killed.
    Crash(NodeId),
    /// A node frees the run of the other, which is dead.
    Reap(NodeId),
    /// A node claims the free run.
    Claim(NodeId),
    /// A node sees that the run is free.
    Look(NodeId),
    /// A node claims the run that it saw free.
    ClaimSeen(NodeId),
    /// A node loses the connection in a claim.
    ClaimUnknown(NodeId, Fate),
    /// A node frees a run that it owns and does not hold.
    Release(NodeId),
    /// A node drops a run that it holds under an epoch that is over.
    Drop(NodeId),
    /// An owner writes.
    Write(NodeId, Event),
    /// An owner loses the connection in a write.
    WriteUnknown(NodeId, Event, Fate),
    /// An owner reads the epoch, to write next.
    Check(NodeId, Event),
    /// An owner begins a transaction.
    Begin(NodeId, Event),
    /// An owner commits.
    Commit(NodeId),
    /// An owner reads the row after an unknown outcome.
    ReadRow(NodeId),
    /// An owner starts the tool.
    StartTool(NodeId),
    /// An owner looks for commands without a notification.
    LookForCommands(NodeId),
    /// An owner hands the run over.
    HandOver(NodeId),
    /// A statement is executed after its connection was lost.
    Late,
    /// A reader begins to listen.
    Listen,
    /// A reader reads all that it has not seen.
    Read,
    /// A reader resumes on the other node, since its own does not run.
    Resume,
    /// A reader resumes on the other node.
    Move,
    /// The notification of a reader is lost.
    LoseEvent,
    /// A client sends its command, which is stored and acknowledged.
    Send(NodeId),
    /// A client sends its command, which is stored; the reply is lost.
    SendUnknown(NodeId),
    /// A client sends its command, which is stored and acknowledged; the notification is lost.
    SendUnheard(NodeId),
}

impl Step {
    /// Returns `true` if the step happens by itself sooner or later. A stopped node need not wake, and nothing waits for a
    /// statement whose connection is lost.
    #[must_use]
    pub const fn is_progress(self) -> bool {
        match self {
            Self::Tick
            | Self::DatabaseUp
            | Self::Connect(_)
            | Self::Reap(_)
            | Self::Claim(_)
            | Self::Look(_)
            | Self::ClaimSeen(_)
            | Self::Release(_)
            | Self::Drop(_)
            | Self::Write(..)
            | Self::Check(..)
            | Self::Begin(..)
            | Self::Commit(_)
            | Self::ReadRow(_)
            | Self::StartTool(_)
            | Self::LookForCommands(_)
            | Self::Listen
            | Self::Read
            | Self::Resume
            | Self::Send(_) => true,
            Self::DatabaseDown
            | Self::CutSession(_)
            | Self::Sleep(_)
            | Self::Wake(_)
            | Self::Crash(_)
            | Self::ClaimUnknown(..)
            | Self::WriteUnknown(..)
            | Self::HandOver(_)
            | Self::Late
            | Self::Move
            | Self::LoseEvent
            | Self::SendUnknown(_)
            | Self::SendUnheard(_) => false,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer => "the answer to the command",
            Self::Call => "the call",
            Self::Result => "the result",
            Self::Interrupted => "that the tool was interrupted",
            Self::End => "the end",
        })
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "it is lost",
            Self::Executed => "it was executed",
            Self::Late => "it may be executed later",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tick => write!(f, "5 s pass"),
            Self::DatabaseDown => write!(f, "the database fails over: sessions and locks are gone"),
            Self::DatabaseUp => write!(f, "the database serves again"),
            Self::Connect(n) => write!(f, "{n:?} opens its session and beats"),
            Self::CutSession(n) => write!(f, "the session of {n:?} is cut"),
            Self::Sleep(n) => write!(f, "{n:?} is stopped"),
            Self::Wake(n) => write!(f, "{n:?} wakes"),
            Self::Crash(n) => write!(f, "{n:?} is killed"),
            Self::Reap(n) => write!(f, "{n:?} reaps the run of {:?}", n.other()),
            Self::Claim(n) => write!(f, "{n:?} claims the run"),
            Self::Look(n) => write!(f, "{n:?} sees that the run is free"),
            Self::ClaimSeen(n) => write!(f, "{n:?} claims the run that it saw free"),
            Self::ClaimUnknown(n, fate) => {
                write!(f, "{n:?} loses the connection in a claim: {fate}")
            }
            Self::Release(n) => write!(f, "{n:?} frees the run that it owns and does not hold"),
            Self::Drop(n) => write!(f, "{n:?} drops the run, whose epoch has passed"),
            Self::Write(n, event) => write!(f, "{n:?} writes {event}"),
            Self::WriteUnknown(n, event, fate) => {
                write!(f, "{n:?} loses the connection in writing {event}: {fate}")
            }
            Self::Check(n, event) => write!(f, "{n:?} reads the epoch, to write {event}"),
            Self::Begin(n, event) => write!(f, "{n:?} begins a transaction that writes {event}"),
            Self::Commit(n) => write!(f, "{n:?} commits"),
            Self::ReadRow(n) => write!(f, "{n:?} reads the row, as it knows no outcome"),
            Self::StartTool(n) => write!(f, "{n:?} starts the tool"),
            Self::LookForCommands(n) => write!(f, "{n:?} looks for commands"),
            Self::HandOver(n) => write!(f, "{n:?} hands the run over"),
            Self::Late => write!(f, "the statement of the lost connection is executed"),
            Self::Listen => write!(f, "the reader listens"),
            Self::Read => write!(f, "the reader reads"),
            Self::Resume => write!(f, "the reader resumes on the other node"),
            Self::Move => write!(f, "the reader moves to the other node"),
            Self::LoseEvent => write!(f, "the notification of the reader is lost"),
            Self::Send(n) => write!(f, "the client sends its command to {n:?}: acknowledged"),
            Self::SendUnknown(n) => write!(f, "the client sends its command to {n:?}: no reply"),
            Self::SendUnheard(n) => {
                write!(f, "the client sends its command to {n:?}: acknowledged, owner not notified")
            }
        }
    }
}
