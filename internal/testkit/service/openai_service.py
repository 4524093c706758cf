"""The official client of OpenAI against the service, whose agents are models: python openai_service.py URL."""

import asyncio
import json
import sys
import time
import urllib.request

import openai

url = sys.argv[1]
client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
create = client.chat.completions.create
scenarios = 0


def ok(what, holds, seen=None):
    global scenarios
    assert holds, f"{what}: {seen!r}"
    scenarios += 1


def user(text):
    return {"role": "user", "content": text}


models = client.models.list().data
ok("the models", any(model.object == "model" and model.owned_by for model in models), models)
agent = models[0].id
ok("one of them", client.models.retrieve(agent).id == agent)
ok("the default", client.models.retrieve("default").id == "default")

sum_of = [{"role": "system", "content": "Be brief."}, user("What is 6 * 7?")]
whole = create(model=agent, messages=sum_of)
text = whole.choices[0].message.content
ok("a whole answer", "42" in text and whole.choices[0].finish_reason == "stop", whole)
ok("no call of the agent's own tools", not whole.choices[0].message.tool_calls, whole)
ok("its usage", whole.usage.total_tokens > 0 and whole.created > 1_600_000_000, whole)

options = {"include_usage": True}
chunks = list(create(model=agent, messages=sum_of, stream=True, stream_options=options))
said = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
ok("a streamed answer", said == text and len(chunks) > 3, chunks)
ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
ok("its end", ends == ["stop"], chunks)
ok("its usage at the end", chunks[-1].usage == whole.usage and chunks[-1].choices == [], chunks[-1])

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
function = {"name": "weather", "description": "Tells the weather.", "parameters": parameters}
tools = [{"type": "function", "function": function}]
asks = [user('Use weather: "Lisbon"')]


def go_on(what, choice, **more):
    """Sends the result of a call; returns the text of the answer."""
    call = choice.message.tool_calls[0]
    ok(what, choice.finish_reason == "tool_calls" and call.function.name == "weather", choice)
    ok("its arguments", json.loads(call.function.arguments) == {"city": "Lisbon"}, call)
    result = {"role": "tool", "tool_call_id": call.id, "content": "Sunny."}
    history = [*asks, choice.message.model_dump(exclude_none=True), result]
    return history, create(model=agent, messages=history, tools=tools, **more)


history, answer = go_on("a call", create(model=agent, messages=asks, tools=tools).choices[0])
ok("the answer to a result", "Sunny." in answer.choices[0].message.content, answer)
again = create(model=agent, messages=history, tools=tools)
ok("the same request again", again.choices == answer.choices and again.id == answer.id, again)
with client.chat.completions.stream(model=agent, messages=asks, tools=tools) as stream:
    deltas = [event.type for event in stream]
    final = stream.get_final_completion().choices[0]
ok("a streamed call", "tool_calls.function.arguments.done" in deltas, deltas)
_, rest = go_on("its end", final, stream=True)
said = "".join(chunk.choices[0].delta.content or "" for chunk in rest if chunk.choices)
ok("the streamed answer to a result", "Sunny." in said, said)

session = {"x-session-id": "new"}
raw = client.chat.completions.with_raw_response
first = raw.create(model=agent, messages=[user("What is 2 * 3?")], extra_headers=session)
named = first.headers["x-session-id"]
ok("a fresh session", named.startswith("conv-") and "6" in first.parse().choices[0].message.content)
session = {"x-session-id": named}
second = raw.create(model=agent, messages=[user("What is 3 * 5?")], extra_headers=session)
ok("the session goes on", second.headers["x-session-id"] == named, second.headers)
with urllib.request.urlopen(f"{url}/v1/conversations/{named}") as page:
    kept = page.read().decode()
ok("what it keeps", "What is 2 * 3?" in kept and "What is 3 * 5?" in kept, kept)
stateless = raw.create(model=agent, messages=[user("What is 2 * 3?")])
ok("no session", "x-session-id" not in stateless.headers, stateless.headers)


def error(kind, **request):
    try:
        create(**request)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} for {request}")


missing = error(openai.NotFoundError, model="nope", messages=asks)
ok("an unknown model", (missing.code, missing.param) == ("model_not_found", "model"), missing)
wrong = error(openai.BadRequestError, model=agent, messages=[{"role": "user", "content": 7}])
ok("a wrong message", wrong.param == "messages[0].content", wrong)
many = error(openai.BadRequestError, model=agent, messages=asks, n=2)
ok("a member that an agent has not", many.param == "n", many)
result = {"role": "tool", "tool_call_id": "call_1", "content": "x"}
call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
foreign = [*asks, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
lost = error(openai.NotFoundError, model=agent, messages=foreign)
ok("a result that no run waits for", lost.code == "call_not_found", lost)


def status_of(run, wanted):
    """Waits until a run has this status."""
    for _ in range(300):
        with urllib.request.urlopen(f"{url}/v1/runs/{run}") as shown:
            status = json.load(shown)["status"]
        if status == wanted:
            return status
        time.sleep(0.1)
    return status


# A run that asks a person goes on until its client leaves.
note = [user('Call notes.keep with "Buy milk."')]
for more, wanted in [({}, "cancelled"), ({"extra_query": {"on_disconnect": "continue"}}, "waiting")]:
    stream = create(model=agent, messages=note, stream=True, **more)
    run = stream.response.headers["x-run-id"]
    ok("a run that waits", status_of(run, "waiting") == "waiting", run)
    stream.close()
    ok("a client that leaves", status_of(run, wanted) == wanted, more)


respond = client.responses.create
answer = respond(model=agent, input="What is 6 * 7?", instructions="Be brief.")
ok("a response", "42" in answer.output_text and answer.status == "completed", answer)
ok("the next one", "10" in respond(model=agent, input="What is 2 * 5?", previous_response_id=answer.id).output_text)
own = [{"type": "function", **function}]
called = respond(model=agent, input='Use weather: "Lisbon"', tools=own)
call = called.output[-1]
ok("a call of a response", (call.type, call.name) == ("function_call", "weather"), called)
result = [{"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."}]
answer = respond(model=agent, input=result, tools=own, previous_response_id=called.id)
ok("the response to a result", "Sunny." in answer.output_text, answer)
with client.responses.stream(model=agent, input="What is 6 * 7?") as stream:
    kinds = {event.type for event in stream}
    answer = stream.get_final_response()
ok("a streamed response", "42" in answer.output_text and "response.output_text.delta" in kinds, kinds)


async def asked_at_once():
    several = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    made = [several.chat.completions.create(model=agent, messages=[user(f"What is {n} * 7?")]) for n in range(8)]
    answers = await asyncio.gather(*made)
    return [answer.choices[0].message.content for answer in answers]


texts = asyncio.run(asked_at_once())
ok("eight at once", all(str(n * 7) in said for n, said in enumerate(texts)), texts)

print(f"openai {openai.__version__} of Python against the service: {scenarios} scenarios")
