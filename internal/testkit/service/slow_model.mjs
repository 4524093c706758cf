// A model that writes word for word, and goes on when it is told to.
import http from "node:http";

export const WORDS = Array.from({ length: 40 }, (_, at) => `word${at + 1}`);

export class SlowModel {
  requests = [];
  /// The answers that are open.
  open = new Set();
  may = 0;
  wake = [];

  async listen() {
    this.server = http.createServer((request, response) => this.answer(request, response));
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  /// Lets answers go on up to this word.
  upTo(words) {
    this.may = words;
    this.wake.splice(0).forEach((wake) => wake());
  }

  async answer(request, response) {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (!request.url.endsWith("/chat/completions")) return response.writeHead(404).end("{}");
    this.requests.push(JSON.parse(body).messages);
    const number = this.requests.length;
    this.open.add(number);
    response.on("close", () => {
      this.open.delete(number);
      this.upTo(this.may);
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    send({ role: "assistant", content: `Answer ${number}:` });
    for (const [at, word] of WORDS.entries()) {
      while (at >= this.may && !response.closed) await new Promise((wake) => this.wake.push(wake));
      if (response.closed) return;
      send({ content: ` ${word}` });
    }
    send({}, "stop");
    response.end("data: [DONE]\n\n");
  }
}
