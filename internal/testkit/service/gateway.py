"""The official client of OpenAI against the gateway of docs/examples: python gateway.py URL."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
create = client.chat.completions.create
who = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Who are you?"}]
scenarios = 0


def ok(what, holds, seen=None):
    global scenarios
    assert holds, f"{what}: {seen!r}"
    scenarios += 1


whole = create(model="demo", messages=who)
text = whole.choices[0].message.content
ok("a whole answer", "demo model" in text and whole.choices[0].finish_reason == "stop", whole)
ok("its usage", whole.usage.prompt_tokens > 0 and whole.usage.completion_tokens > 0, whole.usage)
total = whole.usage.prompt_tokens + whole.usage.completion_tokens
ok("the total", whole.usage.total_tokens == total, whole.usage)

chunks = list(create(model="demo", messages=who, stream=True))
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
ok("a streamed answer", streamed == text and len(chunks) > 3, chunks)
ok("the role", chunks[0].choices[0].delta.role == "assistant", chunks[0])
ok("the end", chunks[-1].choices[0].finish_reason == "stop", chunks[-1])
ok("no usage unless asked", all(chunk.usage is None for chunk in chunks), chunks)

chunks = list(create(model="demo", messages=who, stream=True, stream_options={"include_usage": True}))
ok("usage at the end", chunks[-1].usage == whole.usage and chunks[-1].choices == [], chunks[-1])
ok("usage once", [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1), chunks)

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
function = {"name": "weather", "description": "Tells the weather.", "parameters": parameters}
tools = [{"type": "function", "function": function}]
asks = [{"role": "user", "content": 'Use weather: "Lisbon"'}]
message = create(model="demo", messages=asks, tools=tools).choices[0]
call = message.message.tool_calls[0]
ok("a call", json.loads(call.function.arguments) == {"city": "Lisbon"}, message)
ok("its name", (call.function.name, call.type) == ("weather", "function") and call.id, call)
ok("its reason", message.finish_reason == "tool_calls", message)

with client.chat.completions.stream(model="demo", messages=asks, tools=tools) as stream:
    deltas = [event for event in stream if event.type == "tool_calls.function.arguments.delta"]
    final = stream.get_final_completion().choices[0]
ok("a streamed call", final.message.tool_calls[0].function.arguments == call.function.arguments, final)
ok("its deltas", len(deltas) > 1, deltas)
ok("its streamed reason", final.finish_reason == "tool_calls", final)

result = {"role": "tool", "tool_call_id": call.id, "content": "Sunny."}
history = [*asks, message.message.model_dump(exclude_none=True), result]
answer = create(model="demo", messages=history, tools=tools).choices[0].message.content
ok("the answer to a result", answer.strip() == "The tool `weather` says: Sunny.", answer)

parts = [{"type": "text", "text": "Who are "}, {"type": "text", "text": "you?"}]
answer = create(model="demo", messages=[{"role": "user", "content": parts}]).choices[0].message.content
ok("a message of parts", "demo model" in answer, answer)


def error(kind, **request):
    try:
        create(**request)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} for {request}")


wrong = error(openai.BadRequestError, model="demo", messages=[{"role": "user", "content": 7}])
ok("a wrong request", wrong.param == "messages[0].content" and "expected a text" in wrong.message, wrong)
ok("its type", wrong.type == "invalid_request_error", wrong)
missing = error(openai.NotFoundError, model="nope", messages=who)
ok("an unknown model", missing.param == "model" and "nope" in missing.message, missing)
again = error(openai.BadRequestError, model="demo", messages=[], stream=7)
ok("a wrong member", again.param == "stream", again)

print(f"openai {openai.__version__} against the gateway: {scenarios} scenarios")
