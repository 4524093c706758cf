//! Recorded bodies as streams of pieces.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep_until};

use crate::record::{BodyRead, ExchangeEnd, RecordedResponse};
use forgeline_llm::transport::{BodyStream, TransportError};

/// The pieces in which a recorded body arrives.
///
/// # Examples
///
/// ```
/// use forgeline::testing::replay::{ChunkSizes, ReplayProvider};
///
/// let body = "data: [DONE]\n\n";
/// let three_pieces = ReplayProvider::new([body]).chunks(ChunkSizes::Sizes([4, 2].into()));
/// let byte_by_byte = ReplayProvider::new([body]).chunks(ChunkSizes::Bytes(1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkSizes {
    /// One piece.
    #[default]
    Whole,
    /// Pieces of this number of bytes; zero means whole. The splits may fall anywhere, even inside characters.
    Bytes(usize),
    /// Pieces of these sizes, in bytes; the rest is one piece.
    Sizes(Arc<[usize]>),
}

impl ChunkSizes {
    /// Returns the length of piece number `index`.
    fn length(&self, index: usize, left: usize) -> usize {
        match self {
            Self::Whole | Self::Bytes(0) => left,
            Self::Bytes(bytes) => *bytes,
            Self::Sizes(sizes) => sizes.get(index).copied().unwrap_or(left),
        }
    }
}

/// The times at which the pieces of a recorded answer arrive.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::testing::replay::Pace;
///
/// let pause = Duration::from_millis(50);
/// assert_eq!(Pace::from(pause), Pace::Every(pause));
/// assert_eq!(Pace::from(Duration::ZERO), Pace::None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub enum Pace {
    /// At once.
    #[default]
    None,
    /// One after another, with this pause between them.
    Every(Duration),
    /// At the recorded times. A body without recorded times arrives at once.
    Recorded,
    /// At the recorded times multiplied by this factor: `0.5` is twice as fast. If the factor is not
    /// positive, at once.
    Scaled(f32),
}

impl From<Duration> for Pace {
    /// Converts a pause between pieces; zero means at once.
    fn from(time: Duration) -> Self {
        if time.is_zero() { Self::None } else { Self::Every(time) }
    }
}

impl Pace {
    /// Returns the time after the request that corresponds to the time `recorded`.
    fn scaled(self, recorded: Duration) -> Duration {
        let factor = match self {
            Self::None | Self::Every(_) => return Duration::ZERO,
            Self::Recorded => return recorded,
            Self::Scaled(factor) => f64::from(factor),
        };
        Duration::try_from_secs_f64(recorded.as_secs_f64() * factor).unwrap_or_default()
    }

    /// Waits for the head of a response to a request sent at `start`.
    pub(super) async fn head(self, start: Instant, recorded: Duration) {
        let wait = self.scaled(recorded);
        if !wait.is_zero() {
            sleep_until(start + wait).await;
        }
    }
}

/// A body, with the pieces in which it arrives and their times.
pub(super) struct ReplayBody {
    body: Bytes,
    sizes: ChunkSizes,
    pace: Pace,
    /// The time of the request.
    start: Instant,
    /// The recorded length of the body at each time.
    times: Vec<(usize, Duration)>,
    end: Option<TransportError>,
}

impl ReplayBody {
    pub(super) fn new(body: Bytes, sizes: ChunkSizes, pace: Pace) -> Self {
        Self { body, sizes, pace, start: Instant::now(), times: Vec::new(), end: None }
    }

    /// Creates the body of a recorded response to a request sent at `start`, with the recorded reads unless
    /// `sizes` are given.
    pub(super) fn recorded(
        response: &RecordedResponse,
        ended: ExchangeEnd,
        sizes: Option<ChunkSizes>,
        pace: Pace,
        start: Instant,
    ) -> Self {
        let own = || ChunkSizes::Sizes(response.reads.iter().map(|read| read.bytes).collect());
        let times = response.reads.iter().scan(0, |there, BodyRead { bytes, at }| {
            *there += bytes;
            Some((*there, *at))
        });
        let broken = |why: &str| Some(TransportError::broken(why));
        let end = match ended {
            ExchangeEnd::Whole => None,
            ExchangeEnd::Broken => broken("the connection broke here when it was recorded"),
            ExchangeEnd::Dropped => {
                broken("the recording ends here, since its reader stopped reading")
            }
        };
        let source = Self::new(response.body.clone(), sizes.unwrap_or_else(own), pace);
        Self { times: times.collect(), start, end, ..source }
    }

    /// Streams the pieces, each when it is due.
    pub(super) fn stream(self) -> BodyStream {
        let left = self.body.clone();
        let reads = stream::unfold((self, left, 0), |(mut source, mut left, index)| async move {
            if left.is_empty() {
                let error = source.end.take()?;
                return Some((Err(error), (source, left, index)));
            }
            let length = source.sizes.length(index, left.len()).min(left.len());
            let end = source.body.len() - left.len() + length;
            if let Some(due) = source.due(index, end) {
                sleep_until(due).await;
            }
            Some((Ok(left.split_to(length)), (source, left, index + 1)))
        });
        Box::pin(reads.fuse())
    }

    /// Returns the time at which piece number `index`, which ends at byte `end`, is due; `None` if it is due
    /// immediately.
    fn due(&self, index: usize, end: usize) -> Option<Instant> {
        match self.pace {
            Pace::None => None,
            Pace::Every(time) => (index > 0).then(|| Instant::now() + time),
            Pace::Recorded | Pace::Scaled(_) => {
                let read = self.times.partition_point(|(there, _)| *there < end);
                let (_, at) = self.times.get(read)?;
                let due = self.start + self.pace.scaled(*at);
                (due > Instant::now()).then_some(due)
            }
        }
    }
}
