//! The caller of a request, its scope, its permissions and its rates, and the origins that requests may come from.

pub(super) mod caller;
pub(super) mod control;
pub(super) mod cors;
pub(super) mod gate;
pub(super) mod identity;
pub(super) mod limits;
pub(super) mod loopback;
pub(super) mod origins;
pub(super) mod scope;
pub(super) mod usage;
