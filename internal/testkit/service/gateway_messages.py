"""The official client of Anthropic against the gateway of docs/examples: python gateway_messages.py URL."""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="none", max_retries=0)
create = client.messages.create
who = [{"role": "user", "content": "Who are you?"}]
settings = {"model": "demo", "max_tokens": 1024}
scenarios = 0


def ok(what, holds, seen=None):
    global scenarios
    assert holds, f"{what}: {seen!r}"
    scenarios += 1


whole = create(**settings, system="Be brief.", messages=who)
text = "".join(block.text for block in whole.content if block.type == "text")
ok("a whole answer", "demo model" in text and whole.stop_reason == "end_turn", whole)
ok("its facts", (whole.model, whole.role, whole.type) == ("demo", "assistant", "message"), whole)
ok("its usage", whole.usage.input_tokens > 0 and whole.usage.output_tokens > 0, whole.usage)

events = list(create(**settings, messages=who, system="Be brief.", stream=True))
kinds = [event.type for event in events]
ok("the first and the last event", (kinds[0], kinds[-2:]) == ("message_start", ["message_delta", "message_stop"]), kinds)
starts = [event.index for event in events if event.type == "content_block_start"]
ok("the blocks", starts == list(range(len(starts))) and kinds.count("content_block_stop") == len(starts), kinds)
ok("usage at the end", events[-2].usage.output_tokens == whole.usage.output_tokens, events[-2])

with client.messages.stream(**settings, messages=who, system="Be brief.") as stream:
    pieces = list(stream.text_stream)
    final = stream.get_final_message()
ok("a streamed answer", "".join(pieces) == text and len(pieces) > 3, pieces)
ok("the same blocks", [block.type for block in final.content] == [block.type for block in whole.content], final)
ok("the end", final.stop_reason == "end_turn", final)

schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"name": "weather", "description": "Tells the weather.", "input_schema": schema}]
asks = [{"role": "user", "content": 'Use weather: "Lisbon"'}]
message = create(**settings, messages=asks, tools=tools)
call = [block for block in message.content if block.type == "tool_use"][0]
ok("a call", (call.name, call.input) == ("weather", {"city": "Lisbon"}) and call.id, message)
ok("its reason", message.stop_reason == "tool_use", message)

with client.messages.stream(**settings, messages=asks, tools=tools) as stream:
    deltas = [event for event in stream if event.type == "input_json"]
    final = stream.get_final_message()
streamed = [block for block in final.content if block.type == "tool_use"][0]
ok("a streamed call", (streamed.name, streamed.input) == (call.name, call.input), final)
ok("its deltas", len(deltas) > 1, deltas)
ok("its streamed reason", final.stop_reason == "tool_use", final)

result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "Sunny."}]}
said = [block.model_dump(exclude_none=True) for block in message.content]
history = [*asks, {"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
answer = create(**settings, messages=history, tools=tools)
answered = "".join(block.text for block in answer.content if block.type == "text").strip()
ok("the answer to a result", answered == "The tool `weather` says: Sunny.", answer)

parts = [{"type": "text", "text": "Who are "}, {"type": "text", "text": "you?", "cache_control": {"type": "ephemeral"}}]
answer = create(**settings, messages=[{"role": "user", "content": parts}])
ok("a message of blocks", any("demo model" in block.text for block in answer.content if block.type == "text"), answer)


def error(kind, **request):
    try:
        create(**{**settings, **request})
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} for {request}")


wrong = error(anthropic.BadRequestError, messages=[{"role": "user", "content": 7}])
ok("a wrong request", "messages[0].content: expected a text" in wrong.message, wrong)
ok("its type", wrong.body["error"]["type"] == "invalid_request_error", wrong)
missing = error(anthropic.NotFoundError, model="nope", messages=who)
ok("an unknown model", "nope" in missing.message, missing)

print(f"anthropic {anthropic.__version__} against the gateway: {scenarios} scenarios")
