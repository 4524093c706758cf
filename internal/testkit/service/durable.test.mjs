// The conformance suite of Durable Streams, against the service at SERVICE. Its paths stand below the route of the streams.
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

const baseUrl = `${process.env.SERVICE}/v1/streams`;
runConformanceTests({ baseUrl, longPollTimeoutMs: Number(process.env.LONG_POLL) });
