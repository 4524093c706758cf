//! Several nodes of the service as processes of their own, on a private database, behind a proxy that takes the next node for each request.

mod bench;
mod database;
mod http;
mod model;
mod process;
mod proxy;
mod reader;

pub use self::{
    bench::NodeBench,
    database::BenchServer,
    http::{HttpReply, ask},
    model::PacedModel,
    process::NodeProcess,
    proxy::{NodeProxy, StreamCut},
    reader::{ReadEvent, RunReader},
};
