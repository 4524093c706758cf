//! Pieces of bodies of each protocol, good and bad.

use crate::Protocol;

/// Returns the pieces of `protocol`'s bodies.
pub(super) fn of_protocol(protocol: Protocol) -> &'static [&'static [u8]] {
    match protocol {
        Protocol::OpenAiChat => OPENAI,
        Protocol::OpenAiResponses => RESPONSES,
        Protocol::Anthropic => ANTHROPIC,
        Protocol::Gemini => GEMINI,
        Protocol::Ollama | Protocol::OllamaGenerate => OLLAMA,
        Protocol::Cohere => COHERE,
    }
}

#[rustfmt::skip]
const OPENAI: &[&[u8]] = &[
    b"data: ", b"\n\n", b"\r\n", b"[DONE]", b"{\"choices\":[{\"delta\":{\"content\":\"a\\u65e5\"}}]}",
    b"data: {\"choices\":[{\"delta\":{\"content\":\"\xC3\xA9\xFF\"}}]}\n\n",
    b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\"}}]}}]}\n\n",
    b"data: {\"error\":{\"message\":\"x\"}}\n\n", b"event: error\n", b"{", b"<html>", b"\xEF\xBB\xBF", b"{}", b"null",
    b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
];

#[rustfmt::skip]
const ANTHROPIC: &[&[u8]] = &[
    b"data: ", b"\n\n", b"\r\n", b"[DONE]", b"{", b"<html>", b"\xEF\xBB\xBF", b"{}", b"null", b"event: error\n", b"event: ping\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xC3\xA9\xFF\\ud83d\"}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"\\ude00\"}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"S\"}}\n\n",
    b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"input\":{\"a\":1}}}\n\n",
    b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\"}}\n\n",
    b"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\"}}\n\n",
    b"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n", b"data: {\"type\":\"message_stop\"}\n\n",
    b"data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n",
    b"data: {\"type\":\"error\",\"error\":{}}\n\n", b"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\n\n",
];

#[rustfmt::skip]
const RESPONSES: &[&[u8]] = &[
    b"data: ", b"\n\n", b"\r\n", b"[DONE]", b"{", b"<html>", b"\xEF\xBB\xBF", b"{}", b"null", b"event: error\n",
    b"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"\xC3\xA9\xFF\"}\n\n",
    b"data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\\ud83d\"}\n\n",
    b"data: {\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":1,\"delta\":\"x\"}\n\n",
    b"data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"{\"}\n\n",
    b"data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"name\":\"f\"}}\n\n",
    b"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"content\":[{\"text\":\"b\",\"type\":\"output_text\"}]}}\n\n",
    b"data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"text\":\"s\"}]}]}}\n\n",
    b"data: {\"type\":\"error\",\"message\":\"x\"}\n\n",
];

#[rustfmt::skip]
const GEMINI: &[&[u8]] = &[
    b"data: ", b"\n\n", b"\r\n", b"[DONE]", b"[", b",", b"]", b"{", b"<html>", b"\xEF\xBB\xBF", b"{}", b"null", b"event: error\n",
    b"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\\u65e5\"}]}}]}",
    b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xC3\xA9\xFF\",\"thought\":true,\"thoughtSignature\":\"s\"}]}}]}\r\n\r\n",
    b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":1}}}]}}]}\n\n",
    b"data: {\"error\":{\"message\":\"x\"}}\n\n", b"data: {\"usageMetadata\":{\"promptTokenCount\":1}}\n\n",
    b"data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n", b"data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"}}\n\n",
];

#[rustfmt::skip]
const OLLAMA: &[&[u8]] = &[
    b"\n", b"\r\n", b"{", b"}", b"<html>", b"\xEF\xBB\xBF", b"{}", b"null", b"\\ud83d", b"\xE6",
    b"{\"message\":{\"content\":\"a\\u65e5\xC3\xA9\xFF\"}}\n", b"{\"response\":\"x\\ud83d\"}\n", b"{\"response\":\"\\ude00\"}\n",
    b"{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\": 1}}}]}}\n",
    b"{\"error\":\"x\"}\n", b"{\"done\":true,\"eval_count\":1}\n",
];

#[rustfmt::skip]
const COHERE: &[&[u8]] = &[
    b"data: ", b"\n\n", b"\r\n", b"[DONE]", b"{", b"<html>", b"\xEF\xBB\xBF", b"{}", b"null", b"event: error\n", b"event: message-end\n",
    b"data: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"\xC3\xA9\xFF\"}}}}\n\n",
    b"data: {\"type\":\"tool-plan-delta\",\"delta\":{\"message\":{\"tool_plan\":\"a\\u65e5\"}}}\n\n",
    b"data: {\"type\":\"tool-call-start\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"a\",\"function\":{\"name\":\"f\"}}}}}\n\n",
    b"data: {\"type\":\"tool-call-delta\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"function\":{\"arguments\":\"{}\"}}}}}\n\n",
    b"data: {\"error\":{\"message\":\"x\"}}\n\n", b"data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n",
];
