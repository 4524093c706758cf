use bytes::Bytes;
use forgeline::{
    conformance::{Answer, AnswerEnd, AnswerPart, Candidate, Setup, Subject, sse_frame},
    llm::{
        BodyDecoder, Progress, ProviderError, Request, StreamChunk,
        http::{EnvNames, HttpConfig, WireFormat},
        openai::OpenAiDecoder,
    },
    types::{Capabilities, Text},
};
