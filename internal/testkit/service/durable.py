"""Reads a run as a Durable Stream by the client in Python: durable.py RUN."""

import sys

from durable_streams import stream

run = sys.argv[1] + "/stream"


def read(offset, live):
    """Reads to the end of the run, which this client takes from its last event: it does not know of streams that are closed."""
    values = []
    with stream(run, offset=offset, live=live) as answer:
        for value in answer.iter_json():
            values.append(value)
            if value["type"] == "run_end":
                break
        return values, answer.offset


whole, end = read("-1", False)
assert [value["seq"] for value in whole] == list(range(len(whole))), whole
assert read(end, False)[0] == []
for live in (False, "long-poll", "sse"):
    assert read("-1", live)[0] == whole, live
    assert read(f"{end.split('_')[0]}_{len(whole) // 2:016}", live)[0] == whole[len(whole) // 2 :], live
print("ok streams: Python reads a run from the start and the middle in each mode")
