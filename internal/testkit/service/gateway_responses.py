"""The official client of OpenAI against the Responses of the gateway of docs/examples: python gateway_responses.py URL."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
create = client.responses.create
who = "Who are you?"
scenarios = 0


def ok(what, holds, seen=None):
    global scenarios
    assert holds, f"{what}: {seen!r}"
    scenarios += 1


whole = create(model="demo", instructions="Be brief.", input=who)
text = whole.output_text
ok("a whole answer", "demo model" in text and whole.status == "completed", whole)
ok("its usage", whole.usage.input_tokens > 0 and whole.usage.output_tokens > 0, whole.usage)
total = whole.usage.input_tokens + whole.usage.output_tokens
ok("the total", whole.usage.total_tokens == total, whole.usage)

events = list(create(model="demo", instructions="Be brief.", input=who, stream=True))
kinds = [event.type for event in events]
ok("the first and the last event", (kinds[0], kinds[-1]) == ("response.created", "response.completed"), kinds)
ok("the numbers", [event.sequence_number for event in events] == list(range(len(events))), events)
deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
ok("a streamed answer", "".join(deltas) == text and len(deltas) > 3, deltas)
ok("the whole answer at its end", events[-1].response.output_text == text, events[-1])
ok("usage at the end", events[-1].response.usage == whole.usage, events[-1])

with client.responses.stream(model="demo", instructions="Be brief.", input=who) as stream:
    snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
    final = stream.get_final_response()
ok("the text so far", snapshots[-1] == text, snapshots)
ok("the final response", final.output_text == text, final)

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "name": "weather", "description": "Tells the weather.", "parameters": parameters, "strict": False}]
asks = [{"role": "user", "content": 'Use weather: "Lisbon"'}]
response = create(model="demo", input=asks, tools=tools)
call = [item for item in response.output if item.type == "function_call"][0]
ok("a call", (call.name, json.loads(call.arguments)) == ("weather", {"city": "Lisbon"}) and call.call_id, response)
ok("its status", (call.status, response.status) == ("completed", "completed"), response)

with client.responses.stream(model="demo", input=asks, tools=tools) as stream:
    deltas = [event for event in stream if event.type == "response.function_call_arguments.delta"]
    final = stream.get_final_response()
streamed = [item for item in final.output if item.type == "function_call"][0]
ok("a streamed call", (streamed.name, streamed.arguments) == (call.name, call.arguments), final)
ok("its deltas", len(deltas) > 1 and deltas[-1].snapshot == call.arguments, deltas)

said = [item.model_dump(exclude_none=True) for item in response.output]
result = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."}
answer = create(model="demo", input=[*asks, *said, result], tools=tools).output_text
ok("the answer to a result", answer.strip() == "The tool `weather` says: Sunny.", answer)

parts = [{"type": "input_text", "text": "Who are "}, {"type": "input_text", "text": "you?"}]
answer = create(model="demo", input=[{"role": "user", "content": parts}]).output_text
ok("a message of parts", "demo model" in answer, answer)


def error(kind, **request):
    try:
        create(**{"model": "demo", **request})
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} for {request}")


wrong = error(openai.BadRequestError, input=[{"role": "user", "content": 7}])
ok("a wrong request", wrong.param == "input[0].content" and "expected a text" in wrong.message, wrong)
stored = error(openai.BadRequestError, input=who, previous_response_id="resp_1")
ok("what is not stored", stored.param == "previous_response_id" and "stored" in stored.message, stored)
missing = error(openai.NotFoundError, model="nope", input=who)
ok("an unknown model", missing.param == "model" and "nope" in missing.message, missing)

print(f"openai {openai.__version__} against the Responses of the gateway: {scenarios} scenarios")
