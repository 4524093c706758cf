//! Bytes of a response to typed chunks, in the protocols besides Chat Completions.

use std::sync::Arc;

use forgeline::llm::{Provider, anthropic::Anthropic};

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    corpus,
    gate::Report,
    provider::{LENGTHS, drain, runtime},
    transport::FixedReads,
};

/// A protocol that is measured.
struct Row {
    /// The name of its workload.
    name: &'static str,
    /// The names of its figures.
    gates: (&'static str, &'static str),
    /// The most instructions a chunk, and what we want to reach.
    instructions: (f64, f64),
    provider: fn(FixedReads) -> Result<Arc<dyn Provider>>,
    /// Writes an event with one piece of text.
    event: fn(&str) -> String,
    /// What ends a response.
    end: &'static str,
}

const ROWS: [Row; 1] = [Row {
    name: "anthropic",
    gates: ("anthropic_instructions", "anthropic_allocations"),
    instructions: (11_500.0, 8_000.0),
    provider: |transport| {
        let builder = Anthropic::builder().base_url("http://127.0.0.1/v1").model("bench");
        Ok(Arc::new(builder.transport(transport).build()?))
    },
    event: |delta| {
        let text = corpus::quoted(delta);
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}         }}\n\n"
        )
    },
    end: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
}];

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    for row in &ROWS {
        let (instructions, allocations) = row.gates;
        let value = instructions_per_chunk(row.name, LENGTHS)?;
        report.add(instructions, value, row.instructions, "instructions/chunk");
        let value = allocations_per_chunk(row.name, LENGTHS)?;
        report.add(allocations, value, (0.3, 0.25), "allocations/chunk");
    }
    Ok(())
}

/// Reads `count` chunks of the protocol; `None` when no row has this name.
pub(crate) fn stream(name: &str, count: usize) -> Option<Result<()>> {
    let row = ROWS.iter().find(|row| row.name == name)?;
    Some(read(row, count))
}

fn read(row: &Row, count: usize) -> Result<()> {
    let transport = FixedReads::new(corpus::events(row.event), row.end).cycled(count);
    let provider = (row.provider)(transport)?;
    let read = runtime()?.block_on(drain(&*provider))?;
    if read < count * 9 / 10 { Err(format!("{read} of {count} chunks").into()) } else { Ok(()) }
}
