//! Any body of this protocol: no panic, the same at every cut, no success without an end.

#![no_main]

use forgeline::llm::Protocol;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| forgeline_fuzz::body::check(Protocol::Gemini, body));
