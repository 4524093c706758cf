//! What a delta costs in each protocol that browsers read: the frame, and nothing beside it.

use forgeline::{
    server::encode::{AgUi, Encode, Native, UiMessageStream},
    types::{
        AgentEvent, Envelope, MessageContentEvent, Text, ThinkingContentEvent,
        ToolCallContentEvent, ToolCallStartEvent,
    },
};
use serde_json::Value;

use crate::{
    Result,
    callgrind::instructions_per_chunk,
    corpus, fault,
    gate::Report,
    measure::{allocations, median, own_nanoseconds, per, runs},
};

/// A protocol, the names of its figures, and the instructions that a delta may cost in it.
struct Row {
    workload: &'static str,
    encoder: fn() -> Box<dyn Encode>,
    gates: [&'static str; 3],
    instructions: (f64, f64),
    /// The member of a frame that has the delta of text and of reasoning, and that of arguments.
    members: [&'static str; 2],
}

const ROWS: [Row; 3] = [
    Row {
        workload: "encode-native",
        encoder: || Box::new(Native::new()),
        gates: ["encode_native", "encode_native_instructions", "encode_native_allocations"],
        instructions: (1_900.0, 1_200.0),
        members: ["content", "arguments"],
    },
    Row {
        workload: "encode-ui-message",
        encoder: || Box::new(UiMessageStream::new()),
        gates: [
            "encode_ui_message",
            "encode_ui_message_instructions",
            "encode_ui_message_allocations",
        ],
        instructions: (1_850.0, 1_200.0),
        members: ["delta", "inputTextDelta"],
    },
    Row {
        workload: "encode-ag-ui",
        encoder: || Box::new(AgUi::new("thread")),
        gates: ["encode_ag_ui", "encode_ag_ui_instructions", "encode_ag_ui_allocations"],
        instructions: (2_350.0, 1_500.0),
        members: ["delta", "delta"],
    },
];

/// The kinds of deltas.
const KINDS: usize = 3;

pub(crate) fn gates(report: &mut Report) {
    for row in &ROWS {
        let [time, counted, allocated] = row.gates;
        let value = row.micros().map(|(micros, _)| micros);
        report.take(
            time,
            value,
            (2.0, 0.5),
            "µs a delta, the slowest of text, reasoning and arguments",
        );
        let each = instructions_per_chunk(row.workload, (1, 11));
        let each = each.map(|each| each.map(|each| each / per((KINDS * corpus::EVENTS) as u64, 1)));
        report.take(counted, each, row.instructions, "instructions/encoded delta");
        let value = row.micros().map(|(_, count)| count);
        report.take(allocated, value, (0.0, 0.0), "allocations/encoded delta beyond the frame");
    }
}

/// The workloads, for whoever makes faults in them.
pub(crate) fn workloads() -> impl Iterator<Item = String> {
    ROWS.iter().map(|row| row.workload.to_owned())
}

/// Encodes all deltas of all kinds so many times; `None` for other names.
pub(crate) fn work(name: &str, count: usize) -> Option<Result<()>> {
    let row = ROWS.iter().find(|row| row.workload == name)?;
    Some((0..KINDS).try_for_each(|kind| {
        let mut deltas = row.deltas(kind)?;
        (0..count).try_for_each(|_| deltas.encode())
    }))
}

/// The deltas of one kind, and an encoder behind the event that begins them.
struct Deltas {
    encoder: Box<dyn Encode>,
    events: Vec<Envelope>,
    out: Vec<u8>,
    /// The bytes of all frames, as they were when they were looked at.
    bytes: usize,
}

impl Row {
    /// Encodes each kind some times; gives the µs of a delta and its allocations, each of the worst kind.
    fn micros(&self) -> Result<(f64, f64)> {
        let (mut slowest, mut most) = (0.0_f64, 0.0_f64);
        for kind in 0..KINDS {
            let mut deltas = self.deltas(kind)?;
            let each = |whole: f64| whole / per(corpus::EVENTS as u64, 1);
            let mut failed = Ok(());
            let times = (0..runs()).map(|_| {
                own_nanoseconds(&mut || {
                    if let Err(wrong) = deltas.encode() {
                        failed = Err(wrong);
                    }
                })
            });
            slowest = slowest.max(each(median(times.collect())) / 1e3);
            failed?;
            let (encoded, count) = allocations(|| deltas.encode());
            encoded?;
            most = most.max(each(per(count, 1)));
        }
        Ok((slowest, most))
    }

    /// Returns the deltas of a kind, once their frames were found to have what they say.
    fn deltas(&self, kind: usize) -> Result<Deltas> {
        let mut words: Vec<_> =
            corpus::words(corpus::EVENTS).into_iter().map(str::to_owned).collect();
        let text = words.concat();
        fault::spoil(fault::own(), &mut words);
        let envelope =
            |event| Envelope::new("run_0123456789abcdef".into(), 1, 7, 1_750_000_000_000, event);
        let events = words.iter().map(|word| envelope(delta(kind, word.as_str().into())));
        let (mut encoder, events, mut out) =
            ((self.encoder)(), events.collect::<Vec<_>>(), Vec::new());
        encoder.event(&envelope(begin(kind)), &mut out);
        out.clear();
        let mut deltas = Deltas { encoder, events, out, bytes: 0 };
        deltas.write();
        let frames = str::from_utf8(&deltas.out)?;
        let member = self.members[usize::from(kind == 2)];
        let mut said = String::new();
        for data in frames.lines().filter_map(|line| line.strip_prefix("data: ")) {
            let data: Value = serde_json::from_str(data)?;
            said.push_str(
                data.get(member).and_then(Value::as_str).ok_or("a frame without a delta")?,
            );
        }
        if said != text {
            return Err("the frames say something else".into());
        }
        deltas.bytes = deltas.out.len();
        Ok(deltas)
    }
}

fn begin(kind: usize) -> AgentEvent {
    match kind {
        0 => AgentEvent::MessageStart,
        1 => AgentEvent::ThinkingStart,
        _ => {
            let start = ToolCallStartEvent::new(0, "call_0123456789");
            AgentEvent::ToolCallStart(start.tool_name(Text::from("write")))
        }
    }
}

fn delta(kind: usize, word: Text) -> AgentEvent {
    match kind {
        0 => AgentEvent::MessageContent(MessageContentEvent::new(word)),
        1 => AgentEvent::ThinkingContent(ThinkingContentEvent::new(word)),
        _ => AgentEvent::ToolCallContent(ToolCallContentEvent::new(0, word.clone(), word)),
    }
}

impl Deltas {
    fn write(&mut self) {
        for event in &self.events {
            self.encoder.event(event, &mut self.out);
        }
    }

    /// Encodes all; fails where the frames have another length than those that were looked at.
    fn encode(&mut self) -> Result<()> {
        self.out.clear();
        self.write();
        let (bytes, want) = (self.out.len(), self.bytes);
        if bytes == want { Ok(()) } else { Err(format!("{bytes} bytes of {want}").into()) }
    }
}
