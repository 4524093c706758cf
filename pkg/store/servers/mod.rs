//! The parts that stores on servers share.

pub(super) mod password;
pub(super) mod tls;
pub(super) mod wait_table;
