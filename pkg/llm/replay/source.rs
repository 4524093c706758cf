//! A recorded body as a stream of pieces.

use std::{
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::Sleep;

use crate::llm::transport::TransportError;

/// In which pieces a recorded body arrives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkSizes {
    /// In one.
    #[default]
    Whole,
    /// In pieces of so many bytes; zero means whole. Cuts fall anywhere, inside characters too.
    Bytes(usize),
    /// In pieces of these sizes, in bytes; what is left after them is one piece.
    Sizes(Arc<[usize]>),
}

impl ChunkSizes {
    /// The length of piece number `index`.
    fn length(&self, index: usize, left: usize) -> usize {
        match self {
            Self::Whole | Self::Bytes(0) => left,
            Self::Bytes(bytes) => *bytes,
            Self::Sizes(sizes) => sizes.get(index).copied().unwrap_or(left),
        }
    }
}

/// The pieces of one body.
pub(super) struct Source {
    left: Bytes,
    sizes: ChunkSizes,
    index: usize,
    pace: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Source {
    pub(super) fn new(body: Bytes, sizes: ChunkSizes, pace: Duration) -> Self {
        Self { left: body, sizes, index: 0, pace, timer: None }
    }
}

impl Stream for Source {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.left.is_empty() {
            return Poll::Ready(None);
        }
        if this.index > 0 && !this.pace.is_zero() {
            let pace = this.pace;
            let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(pace)));
            ready!(timer.as_mut().poll(context));
            this.timer = None;
        }
        let length = this.sizes.length(this.index, this.left.len()).min(this.left.len());
        this.index += 1;
        Poll::Ready(Some(Ok(this.left.split_to(length))))
    }
}
