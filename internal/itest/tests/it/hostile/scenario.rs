//! One row of the tables: what a server does, and what must be true then.

use std::{
    ops::RangeInclusive,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use forgeline::{
    llm::{
        ProviderError, RetryPolicy, TimeoutKind, Timeouts, sse::SseLimits, transport::Transport,
    },
    types::ErrorCode,
};

use futures_util::FutureExt as _;

use super::{
    WIRES, Wire, begun,
    server::{Answer, Outcome, Server, ask},
};
use crate::wires::KEY;

/// The times of the tables: every wait has another one.
pub(super) fn times() -> Timeouts {
    let seconds = Duration::from_secs;
    let waits = Timeouts::NONE.first_byte(seconds(5)).idle(seconds(7)).content(seconds(20));
    waits.total(seconds(200))
}

/// Longest body of an answer in the tables.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Longest text that an error shows, its causes included.
const MOST_SHOWN: usize = 4 << 10;

/// The text that must arrive.
#[derive(Clone, Copy)]
enum Text {
    Is(&'static str),
    Begins(&'static str),
    Any,
}

/// How the answer must end.
#[derive(Clone, Copy)]
enum Ends {
    Well,
    With(ErrorCode),
    Late(TimeoutKind),
    Typed,
}

/// What a server does that speaks a protocol.
type Answers = dyn Fn(&Wire) -> Vec<Answer>;

/// One scenario; by default the answer is the text `kept`, asked for once and there at once.
pub(super) struct Scenario {
    name: String,
    answers: Box<Answers>,
    times: Timeouts,
    retry: RetryPolicy,
    ends: Ends,
    ends_on: Option<(ErrorCode, &'static [&'static str])>,
    text: Text,
    text_on: Option<(&'static str, &'static [&'static str])>,
    asks: usize,
    seconds: RangeInclusive<u64>,
    says: Option<&'static str>,
    max_bytes: usize,
    only: fn(&Wire) -> bool,
}

/// A scenario of one answer.
pub(super) fn one(name: impl Into<String>, answer: impl Fn(&Wire) -> Answer + 'static) -> Scenario {
    several(name, move |wire| vec![answer(wire)])
}

/// A scenario of several answers, one a request.
pub(super) fn several(
    name: impl Into<String>,
    answers: impl Fn(&Wire) -> Vec<Answer> + 'static,
) -> Scenario {
    Scenario {
        name: name.into(),
        answers: Box::new(answers),
        times: times(),
        retry: RetryPolicy::default().jitter(false),
        ends: Ends::Well,
        ends_on: None,
        text: Text::Is("kept"),
        text_on: None,
        asks: 1,
        seconds: 0..=0,
        says: None,
        max_bytes: MOST_BYTES,
        only: |_| true,
    }
}

impl Scenario {
    pub(super) fn fails(mut self, code: ErrorCode) -> Self {
        self.ends = Ends::With(code);
        self
    }

    pub(super) fn late(mut self, which: TimeoutKind) -> Self {
        self.ends = Ends::Late(which);
        self
    }

    /// Fails so on these protocols.
    pub(super) fn fails_on(mut self, code: ErrorCode, wires: &'static [&'static str]) -> Self {
        self.ends_on = Some((code, wires));
        self
    }

    /// Has this text on these protocols.
    pub(super) fn text_on(mut self, text: &'static str, wires: &'static [&'static str]) -> Self {
        self.text_on = Some((text, wires));
        self
    }

    /// Ends well or with an error; that depends on what was hit.
    pub(super) fn ends_somehow(mut self) -> Self {
        (self.ends, self.text) = (Ends::Typed, Text::Any);
        self
    }

    pub(super) fn says(mut self, words: &'static str) -> Self {
        self.says = Some(words);
        self
    }

    pub(super) fn text(mut self, text: &'static str) -> Self {
        self.text = Text::Is(text);
        self
    }

    pub(super) fn begins(mut self, text: &'static str) -> Self {
        self.text = Text::Begins(text);
        self
    }

    pub(super) fn any_text(mut self) -> Self {
        self.text = Text::Any;
        self
    }

    pub(super) fn nothing(self) -> Self {
        self.text("")
    }

    pub(super) fn asks(mut self, times: usize) -> Self {
        self.asks = times;
        self
    }

    pub(super) fn takes(mut self, seconds: RangeInclusive<u64>) -> Self {
        self.seconds = seconds;
        self
    }

    pub(super) fn times(mut self, times: Timeouts) -> Self {
        self.times = times;
        self
    }

    pub(super) fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    pub(super) fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    pub(super) fn only(mut self, wires: fn(&Wire) -> bool) -> Self {
        self.only = wires;
        self
    }

    async fn meet(&self, wire: &Wire, answers: Vec<Answer>) -> (Outcome, Arc<Server>) {
        let server = Server::new(answers);
        let transport: Arc<dyn Transport> = Arc::clone(&server) as _;
        let (times, retry, max_bytes) = (self.times, self.retry, self.max_bytes);
        let provider = wire.provider("http://h", &move |mut setup| {
            setup.transport = Some(Arc::clone(&transport));
            setup.timeouts = times;
            setup.retry = retry;
            setup.limits = SseLimits::default().max_response_bytes(max_bytes);
            setup
        });
        (ask(&*provider).await, server)
    }

    /// Plays the scenario over one protocol.
    pub(super) async fn play(&self, wire: &Wire) {
        let name = format!("{}: {}", wire.name, self.name);
        let answers = (self.answers)(wire);
        let cut: Option<Vec<Answer>> = answers.iter().map(Answer::cut).collect();
        let (outcome, server) = self.meet(wire, answers).await;
        self.check(wire, &name, &outcome, &server);
        if let Some(cut) = cut {
            let name = format!("{name}, byte by byte");
            let (other, server) = self.meet(wire, cut).await;
            self.check(wire, &name, &other, &server);
            assert_eq!(outcome.text, other.text, "{name}");
            assert_eq!(code(&outcome), code(&other), "{name}");
            assert_eq!(outcome.completion.tool_calls, other.completion.tool_calls, "{name}");
        }
    }

    fn ends_of(&self, wire: &Wire) -> Ends {
        let own = self.ends_on.filter(|(_, wires)| wires.contains(&wire.name));
        own.map_or(self.ends, |(code, _)| Ends::With(code))
    }

    fn text_of(&self, wire: &Wire) -> Text {
        let own = self.text_on.filter(|(_, wires)| wires.contains(&wire.name));
        own.map_or(self.text, |(text, _)| Text::Is(text))
    }

    fn check(&self, wire: &Wire, name: &str, outcome: &Outcome, server: &Server) {
        let Outcome { text, error, took, .. } = outcome;
        let shown: &str = text.get(..80).unwrap_or(text);
        match self.ends_of(wire) {
            Ends::Well => assert!(error.is_none(), "{name}: {error:?}, {shown}"),
            Ends::With(want) => assert_eq!(code(outcome), Some(want), "{name}: {error:?}, {shown}"),
            Ends::Late(want) => assert!(
                matches!(error, Some(ProviderError::Timeout { which, .. }) if *which == want),
                "{name}: {error:?}, {shown}"
            ),
            Ends::Typed => {}
        }
        match self.text_of(wire) {
            Text::Is(want) => assert_eq!(text, want, "{name}: {error:?}"),
            Text::Begins(want) => assert!(text.starts_with(want), "{name}: {shown}, {error:?}"),
            Text::Any => {}
        }
        assert_eq!(server.asked(), self.asks, "{name}: requests; {error:?}");
        let seconds = took.as_secs();
        assert!(self.seconds.contains(&seconds), "{name}: took {took:?}; {error:?}");
        let read = server.bytes.load(Ordering::Relaxed);
        assert!(read <= self.max_bytes * self.asks + (1 << 20), "{name}: {read} bytes were read");
        // What a person or a model is shown has bounds and no secret.
        if let Some(error) = error {
            let shown = format!("{error} {}", error.to_agent_error());
            assert!(shown.len() <= MOST_SHOWN, "{name}: {} bytes are shown", shown.len());
            assert!(!shown.contains(KEY), "{name}: {shown}");
            if let Some(words) = self.says {
                assert!(shown.contains(words), "{name}: {shown}");
            }
        }
        for call in &outcome.completion.tool_calls {
            assert!(call.name.len() <= 256 && call.id.len() <= 1024, "{name}: a name or an id");
            assert!(call.arguments_raw.len() <= 4 << 20, "{name}: arguments");
        }
    }
}

fn code(outcome: &Outcome) -> Option<ErrorCode> {
    outcome.error.as_ref().map(ProviderError::code)
}

impl Answer {
    /// The same, byte by byte, if it is short and takes no time.
    fn cut(&self) -> Option<Self> {
        match self {
            Self::Refuses | Self::Resets => Some(self.clone()),
            Self::Unreachable(_) | Self::Silent | Self::Late(..) => None,
            Self::Status(status, headers, body) => {
                Some(Self::Status(*status, headers.clone(), body.cut()?))
            }
        }
    }
}

/// Plays every scenario of a table over every protocol, so that all failures are reported; returns how
/// many there were.
pub(super) async fn play(table: &[Scenario]) -> usize {
    let mut failed = Vec::new();
    for scenario in table {
        for wire in WIRES.iter().filter(|wire| (scenario.only)(wire)) {
            if AssertUnwindSafe(scenario.play(wire)).catch_unwind().await.is_err() {
                failed.push(format!("{}: {}", wire.name, scenario.name));
            }
        }
    }
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
    table.len()
}

/// A whole answer.
pub(super) fn whole(wire: &Wire) -> String {
    format!("{}{}", begun(wire), wire.end)
}
