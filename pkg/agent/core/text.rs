//! Parsed message text, piece by piece.

use forgeline_llm::private::{AnswerAssembler, OpenCall, TextSection};
use forgeline_parser::{CallEvidence, ParseOutcome, ParsedContent, RepairSet};
use forgeline_types::AgentEvent;

/// Takes one piece of message text.
pub(super) fn take(
    content: ParsedContent<'_>,
    open: &mut Option<OpenCall>,
    evidence: &CallEvidence,
    assembler: &mut AnswerAssembler,
    emit: &mut impl FnMut(AgentEvent),
) {
    match content {
        ParsedContent::Text(text) => {
            assembler.text(TextSection::message(false), text, emit);
        }
        ParsedContent::Marker(_) => assembler.end_section(emit),
        ParsedContent::Inline(_) | ParsedContent::OpenerInCode => {}
        ParsedContent::CallStart => *open = Some(assembler.begin_text_call(emit)),
        ParsedContent::CallEnd { outcome, repairs, .. } => {
            if let Some(call) = open.take() {
                let outcome = &judge(&call, outcome, repairs, evidence);
                let call = call.end(outcome.into(), repairs.to_vec(), false, emit);
                assembler.keep_call(call);
            }
        }
        ParsedContent::CallName(_)
        | ParsedContent::CallId(_)
        | ParsedContent::CallServer(_)
        | ParsedContent::CallBody(_)
        | ParsedContent::CallVerbatim(_)
        | ParsedContent::CallArguments(_)
        | ParsedContent::CallSource(_) => {
            if let Some(call) = open {
                take_part(content, call, emit);
            }
        }
        _ => {
            if let Some(call) = open {
                take_part(content, call, emit);
            }
        }
    }
}

/// Returns the outcome of a call: one that was repaired counts only if nothing speaks against it.
pub(super) fn judge(
    call: &OpenCall,
    outcome: &ParseOutcome,
    repairs: RepairSet,
    evidence: &CallEvidence,
) -> ParseOutcome {
    let is_doubtful = *outcome == ParseOutcome::Complete && evidence.is_needed(repairs);
    let so_far = is_doubtful.then(|| call.so_far()).flatten();
    let reason = so_far.and_then(|(name, it)| evidence.refute(name, &it, repairs));
    reason.map_or(*outcome, |reason| ParseOutcome::malformed(reason, 0))
}

/// Takes one piece of a call.
pub(super) fn take_part(
    content: ParsedContent<'_>,
    call: &mut OpenCall,
    emit: &mut impl FnMut(AgentEvent),
) {
    match content {
        ParsedContent::CallName(name) => call.name(name, emit),
        ParsedContent::CallId(id) => call.id(id.into()),
        ParsedContent::CallServer(name) => call.server(name),
        ParsedContent::CallBody(text) => call.body(text, emit),
        ParsedContent::CallVerbatim(text) => {
            call.arguments(text);
            call.source(text);
            call.body(text, emit);
        }
        ParsedContent::CallArguments(json) => call.arguments(json),
        ParsedContent::CallSource(text) => call.source(text),
        ParsedContent::Text(_)
        | ParsedContent::Marker(_)
        | ParsedContent::Inline(_)
        | ParsedContent::OpenerInCode
        | ParsedContent::CallStart
        | ParsedContent::CallEnd { .. } => {}
        _ => {}
    }
}
