//! The addresses that a server may name.

pub(crate) mod address_reach;
pub(crate) mod host_names;
