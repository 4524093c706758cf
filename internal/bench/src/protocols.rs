//! Bytes of a response to typed chunks, in the protocols besides Chat Completions.

use std::sync::Arc;

use forgeline::llm::{
    Provider,
    anthropic::Messages,
    cohere::ChatV2,
    gemini::GenerateContent,
    http::{HttpProvider, WireFormat},
    ollama::OllamaChat,
    responses::Responses,
};

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    corpus,
    gate::Report,
    provider::{ALLOCATIONS, CAPACITY, LENGTHS, big_events, chunks, events},
    reading::{Answer, Tags},
    transport::FixedReads,
};

/// A protocol that is measured.
struct Row {
    /// The name of its workload; behind `pipeline-` the same on to events.
    name: &'static str,
    gates: Gates,
    /// The instructions that a chunk may cost, and on to events.
    most: (f64, f64),
    tags: Tags,
    provider: fn(FixedReads) -> Result<Arc<dyn Provider>>,
    /// Writes an event with one piece of text, as long as the vendor's are.
    event: fn(&str) -> String,
    /// What ends a response.
    end: &'static str,
}

/// The names of a row's figures.
#[derive(Clone, Copy)]
struct Gates {
    instructions: &'static str,
    allocations: &'static str,
    pipeline_instructions: &'static str,
    pipeline_allocations: &'static str,
    big_event: &'static str,
}

/// The names of the figures of one protocol.
macro_rules! gates {
    ($name:literal) => {
        Gates {
            instructions: concat!($name, "_instructions"),
            allocations: concat!($name, "_allocations"),
            pipeline_instructions: concat!($name, "_pipeline_instructions"),
            pipeline_allocations: concat!($name, "_pipeline_allocations"),
            big_event: concat!($name, "_big_event"),
        }
    };
}

/// A provider of this type over `transport`.
fn over<W: WireFormat>(transport: FixedReads) -> Result<Arc<dyn Provider>> {
    let builder = HttpProvider::<W>::builder().base_url("http://127.0.0.1").model("bench");
    Ok(Arc::new(builder.transport(transport).build()?))
}

const ROWS: [Row; 5] = [
    Row {
        name: "anthropic",
        gates: gates!("anthropic"),
        most: (2_650.0, 4_300.0),
        provider: over::<Messages>,
        tags: Tags::Text,
        event: |delta| {
            let text = corpus::quoted(delta);
            format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}         }}\n\n"
            )
        },
        end: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    },
    Row {
        name: "responses",
        gates: gates!("responses"),
        most: (3_500.0, 5_200.0),
        provider: over::<Responses>,
        tags: Tags::Read,
        event: |delta| {
            let text = corpus::quoted(delta);
            format!(
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\
                 \"sequence_number\":1234,\"item_id\":\"msg_0123456789abcdef0123456789abcdef\",\
                 \"output_index\":0,\"content_index\":0,\"delta\":{text},\"logprobs\":[],\
                 \"obfuscation\":\"q7Yx2mPd\"}}\n\n"
            )
        },
        end: "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
    },
    Row {
        name: "gemini",
        gates: gates!("gemini"),
        most: (3_000.0, 4_650.0),
        provider: over::<GenerateContent>,
        tags: Tags::Text,
        event: |delta| {
            let text = corpus::quoted(delta);
            format!(
                "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": {text}}}],\
                 \"role\": \"model\"}},\"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 104,\
                 \"candidatesTokenCount\": 17,\"totalTokenCount\": 121,\"promptTokensDetails\": \
                 [{{\"modality\": \"TEXT\",\"tokenCount\": 104}}]}},\"modelVersion\": \"bench\",\
                 \"responseId\": \"0123456789abcdefghij\"}}\r\n\r\n"
            )
        },
        end: "data: {\"candidates\": [{\"finishReason\": \"STOP\"}]}\r\n\r\n",
    },
    Row {
        name: "ollama",
        gates: gates!("ollama"),
        most: (2_500.0, 4_200.0),
        provider: over::<OllamaChat>,
        tags: Tags::Read,
        event: |delta| {
            let text = corpus::quoted(delta);
            format!(
                "{{\"model\":\"bench\",\"created_at\":\"2026-11-01T10:00:00.123456789Z\",\
                 \"message\":{{\"role\":\"assistant\",\"content\":{text}}},\"done\":false}}\n"
            )
        },
        end: "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    },
    Row {
        name: "cohere",
        gates: gates!("cohere"),
        most: (2_600.0, 4_250.0),
        provider: over::<ChatV2>,
        tags: Tags::Text,
        event: |delta| {
            let text = corpus::quoted(delta);
            format!(
                "event: content-delta\ndata: {{\"type\":\"content-delta\",\"index\":0,\
                 \"delta\":{{\"message\":{{\"content\":{{\"text\":{text}}}}}}}}}\n\n"
            )
        },
        end: "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n",
    },
];

pub(crate) fn gates(report: &mut Report) {
    for row in &ROWS {
        let Gates {
            instructions,
            allocations,
            pipeline_instructions,
            pipeline_allocations,
            big_event,
        } = row.gates;
        let pipeline = format!("{PIPELINE}{}", row.name);
        for (workload, counted, most, allocated) in [
            (row.name, instructions, row.most.0, allocations),
            (&*pipeline, pipeline_instructions, row.most.1, pipeline_allocations),
        ] {
            let value = instructions_per_chunk(workload, LENGTHS);
            report.take(counted, value, (most, most), "instructions/chunk");
            let value = allocations_per_chunk(workload, LENGTHS);
            report.take(allocated, value, ALLOCATIONS, "allocations/chunk");
        }
        let value = big_events(&row.provider, row.event, row.end).map(|(value, _)| value);
        report.take(big_event, value, (5.0, 2.0), "µs/KiB of a 1 MiB event");
    }
}

/// What stands before the name of a protocol that is read on to events.
const PIPELINE: &str = "pipeline-";

/// The names of all workloads.
pub(crate) fn workloads() -> impl Iterator<Item = String> {
    ROWS.iter().flat_map(|row| [row.name.to_owned(), format!("{PIPELINE}{}", row.name)])
}

/// Reads `count` chunks of the protocol; `None` when no row has this name.
pub(crate) fn stream(name: &str, count: usize) -> Option<Result<()>> {
    let (protocol, to_events) = match name.strip_prefix(PIPELINE) {
        Some(protocol) => (protocol, true),
        None => (name, false),
    };
    let row = ROWS.iter().find(|row| row.name == protocol)?;
    Some(read(row, to_events, count))
}

fn read(row: &Row, to_events: bool, count: usize) -> Result<()> {
    let transport = FixedReads::new(corpus::events(row.event), row.end).cycled(count);
    let provider = (row.provider)(transport)?;
    if to_events {
        let answer = Answer::of_events(count, row.tags);
        return events(&*provider, answer, CAPACITY, async || ());
    }
    chunks(&*provider, Answer::of_chunks(count, row.tags))
}
