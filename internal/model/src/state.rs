//! One moment of the system: the rows of the database, and the memory of each process.

/// Positions that the log of a run has room for; a correct run needs four.
pub(crate) const SLOTS: usize = 6;
/// Seconds of one tick of the model's clock.
pub const TICK_SECONDS: u8 = 5;
/// Ticks after which `until` is over: 10 s.
pub(crate) const UNTIL: u8 = 2;
/// Ticks after which a beat is older than 2 s.
pub(crate) const STALE: u8 = 1;
/// Ticks that a session of a reaper must have lived: 10 s.
pub(crate) const SETTLED: u8 = 2;
/// Ages stop here: one more than every limit, with a clock that is one tick ahead.
pub(crate) const OLDEST: u8 = 3;

/// One of the two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeId {
    /// The first node.
    A,
    /// The second node, whose own clock is one tick ahead.
    B,
}

impl NodeId {
    /// Both nodes.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the other node.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// A promise of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Invariant {
    /// At each moment at most one node holds the run under its epoch.
    OneOwner,
    /// A node that has lost the run writes nothing.
    OldOwnerSilent,
    /// The log has each position up to its head, and each event once.
    LogWhole,
    /// A reader sees each event of the log once, in order, on any node.
    ReaderInOrder,
    /// An acknowledged command is stored, and answered at most once.
    AnsweredOnce,
    /// A tool without `idempotent` runs at most once.
    ToolOnce,
    /// A node that lives keeps its run.
    LivingKeeps,
    /// Once faults stop, the run ends, its reader sees the end, and the client knows of its command.
    RunEnds,
}

/// An event of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The answer to the command.
    Answer,
    /// The call of a tool, in the journal before the tool starts.
    Call,
    /// The result of the tool.
    Result,
    /// A note in place of the result: an earlier owner may have started the tool.
    Interrupted,
    /// The end of the run.
    End,
}

/// The position in the run's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Journal {
    /// The run has begun.
    Begun,
    /// The call of the tool is written down.
    Called,
    /// The result of the tool is written down.
    Resulted,
    /// The run has ended.
    Ended,
}

/// The rows of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// The events, by position.
    pub log: [Option<Event>; SLOTS],
    /// The number of events.
    pub head: u8,
    /// Raised by each claim, reap, release and hand-over.
    pub epoch: u8,
    /// The node that owns the run.
    pub owner: Option<NodeId>,
    /// The progress of the run.
    pub journal: Journal,
    /// The transaction that holds the row's lock between two statements.
    pub lock: Option<NodeId>,
    /// Rows of the one command.
    pub stored: u8,
    /// Answers to it.
    pub answered: u8,
    /// Starts of the tool, in the world outside.
    pub tool_starts: u8,
}

/// The life of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// It runs, and beats when a session allows.
    Awake,
    /// It runs again after a sleep, and has not beaten since.
    Woken,
    /// It is stopped.
    Asleep,
    /// It is gone, with its memory and its connections.
    Crashed,
}

/// A step between two statements of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It may go on with the journal.
    Ready,
    /// The call is that of an earlier owner.
    Inherited,
    /// The tool has run; its result is in memory only.
    Ran,
    /// The epoch was read and is the own one; the write follows.
    Checked(Event),
    /// A transaction has written and is not committed.
    Locked(Event),
    /// The connection was lost in the statement.
    Unknown(Event),
}

/// The memory of a node about the run that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The epoch under which it writes.
    pub epoch: u8,
    /// The head that it expects.
    pub head: u8,
    /// The position in the journal.
    pub journal: Journal,
    /// Commands that it knows and has not answered.
    pub pending: u8,
    /// The step that it is in.
    pub phase: Phase,
}

/// The work of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// It holds no run.
    Free,
    /// It saw a free run with this epoch, and claims it in a second statement.
    Looked(u8),
    /// It holds the run.
    Held(Hold),
}

/// A process of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its life.
    pub life: Life,
    /// The age in ticks of its session, whose lock it holds.
    pub session: Option<u8>,
    /// The age in ticks of its beat, by the clock of the database.
    pub beat: u8,
    /// Its work.
    pub task: Task,
}

impl Node {
    /// Returns `true` if the process runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.life, Life::Awake | Life::Woken)
    }

    /// Returns the run that it holds.
    #[must_use]
    pub fn hold(&self) -> Option<Hold> {
        match self.task {
            Task::Held(hold) => Some(hold),
            Task::Free | Task::Looked(_) => None,
        }
    }
}

/// The state of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Database {
    /// It serves.
    Up,
    /// It serves again, for less than a tick: sessions that it lost may not be back.
    Young,
    /// It fails over.
    Down,
}

/// A statement that the database executes after its client lost the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Late {
    /// A write of a run.
    Write(Write),
    /// A claim.
    Claim(NodeId),
}

/// A write of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Write {
    /// The node that sends it.
    pub node: NodeId,
    /// Its epoch.
    pub epoch: u8,
    /// The head that it expects.
    pub head: u8,
    /// The event.
    pub event: Event,
}

/// The step that a reader is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// It is connected.
    Fresh,
    /// It listens, and reads next.
    Listening,
    /// It has read, and listens next.
    Unheard,
    /// It waits for a notification.
    Waiting,
    /// It is notified.
    Notified,
}

/// A reader that resumes at the number of events that it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reader {
    /// The node that serves it.
    pub node: NodeId,
    /// The events that it has seen.
    pub seen: u8,
    /// The last of them.
    pub last: Option<Event>,
    /// The step that it is in.
    pub phase: Reading,
}

/// The client's knowledge of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// Not acknowledged; it is sent, or sent again with the same key.
    Waiting,
    /// Acknowledged.
    Acknowledged,
    /// Refused, since the run has ended.
    Refused,
}

/// One moment of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The rows of the run.
    pub run: Run,
    /// The nodes.
    pub nodes: [Node; 2],
    /// The database.
    pub database: Database,
    /// A statement that outlives its connection.
    pub late: Option<Late>,
    /// The reader, if the bounds have one.
    pub reader: Option<Reader>,
    /// The client, if the bounds have a command.
    pub client: Option<Client>,
    /// Faults that may still happen.
    pub faults: u8,
    /// The promise that the last step broke.
    pub broken: Option<Invariant>,
}

impl State {
    /// Returns a node.
    #[must_use]
    pub const fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Notes that a node was seen to live.
    pub(crate) fn has_acted(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        if node.life == Life::Woken {
            node.life = Life::Awake;
        }
    }

    pub(crate) const fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    pub(crate) fn hold_mut(&mut self, id: NodeId) -> Option<&mut Hold> {
        match &mut self.node_mut(id).task {
            Task::Held(hold) => Some(hold),
            Task::Free | Task::Looked(_) => None,
        }
    }

    /// Returns `true` if the database serves statements of `id`.
    #[must_use]
    pub fn is_served(&self, id: NodeId) -> bool {
        self.node(id).is_running() && self.database != Database::Down
    }
}
