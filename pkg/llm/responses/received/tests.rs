//! Requests of clients, as they come.
