//! Calls in reasoning, and in code fences, that were never closed.

use super::text::{judge, take_part};
use forgeline_llm::private::{AnswerAssembler, OpenCall};
use forgeline_parser::{CallEvidence, ParseOutcome, ParsedContent, ToolCallParser};
use forgeline_types::{AgentEvent, Repair};

/// Maximum text kept in case an unclosed section contains calls, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 10;

/// Adds `text` to the kept text, which is dropped once it is too long.
pub(super) fn keep(kept: &mut Option<String>, text: &str) {
    if let Some(unclosed) = kept {
        unclosed.push_str(text);
        if unclosed.len() > MAX_KEPT_BYTES {
            *kept = None;
        }
    }
}

/// Keeps message text from an opening marker in a code fence onwards.
pub(super) fn keep_code(kept: &mut Option<String>, content: ParsedContent<'_>) {
    if let ParsedContent::Text(text) = content {
        keep(kept, text);
    } else if content == ParsedContent::OpenerInCode {
        *kept = Some(String::new());
    }
}

/// Emits the complete calls in `text`, with `repair`; everything else in `text` was a draft.
/// Returns the number of calls.
pub(super) fn recover_calls(
    text: &str,
    repair: Repair,
    mut parser: ToolCallParser,
    evidence: &CallEvidence,
    assembler: &mut AnswerAssembler,
    emit: &mut dyn FnMut(AgentEvent),
) -> u32 {
    let mut count = 0;
    let mut open: Option<OpenCall> = None;
    let mut events = Vec::new();
    let mut out = |content: ParsedContent<'_>| match content {
        ParsedContent::CallStart => {
            events.clear();
            open = Some(assembler.draft_call());
        }
        ParsedContent::CallEnd { outcome: ParseOutcome::Complete, mut repairs, .. } => {
            let Some(call) = open.take() else { return };
            repairs.insert(repair);
            let keep = &mut |event| events.push(event);
            let outcome = &judge(&call, &ParseOutcome::Complete, repairs, evidence);
            let call = call.end(outcome.into(), repairs.to_vec(), false, keep);
            if call.is_complete() {
                events.drain(..).for_each(&mut *emit);
                assembler.keep_draft(call);
                count += 1;
            }
        }
        ParsedContent::CallEnd { .. } => open = None,
        ParsedContent::Text(_)
        | ParsedContent::Marker(_)
        | ParsedContent::Inline(_)
        | ParsedContent::OpenerInCode
        | ParsedContent::CallName(_)
        | ParsedContent::CallId(_)
        | ParsedContent::CallServer(_)
        | ParsedContent::CallBody(_)
        | ParsedContent::CallVerbatim(_)
        | ParsedContent::CallArguments(_)
        | ParsedContent::CallSource(_) => {
            if let Some(call) = &mut open {
                take_part(content, call, &mut |event| events.push(event));
            }
        }
        _ => {
            if let Some(call) = &mut open {
                take_part(content, call, &mut |event| events.push(event));
            }
        }
    };
    parser.parse(text, &mut out);
    parser.flush(true, &mut out);
    count
}
