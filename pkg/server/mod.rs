//! Runs as a service: their events for browsers and other programs.

pub mod encode;
