//! A subscriber beside that of a test.

use std::sync::LazyLock;

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
    subscriber::Interest,
};

/// Sees nothing, and has every place asked for each span.
///
/// While only one subscriber is registered, the thread that reaches a place first decides for all threads whether it is
/// of interest: a test of another thread, without a subscriber, would end the spans of this one.
struct AsksEachTime;

static BESIDE: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(AsksEachTime));

impl Subscriber for AsksEachTime {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Has every place of a span or an event asked each time whether it is of interest.
pub(crate) fn ask_each_time() {
    LazyLock::force(&BESIDE);
}
