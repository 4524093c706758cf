//! Hand-written synchronization primitives, which a model checker replaces.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};

pub(super) use futures_util::task::AtomicWaker;
