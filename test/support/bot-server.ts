import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export type Heard = { path: string; headers: IncomingHttpHeaders; body: string };

export type TestServer = {
  url: string;
  heard: Heard[];
  /** What the next calls are answered; afterwards everything is fine again. */
  answerNext(...answers: { status: number; body?: unknown }[]): void;
  stop(): Promise<void>;
};

/** A server that takes what it is sent: it speaks the bot API of Telegram, which suits a webhook as well. */
export async function startBotServer(): Promise<TestServer> {
  const heard: Heard[] = [];
  let next: { status: number; body?: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { status, body } = next.shift() ?? { status: 200, body: { ok: true, result: { message_id: 1 } } };
    if (status < 300) {
      heard.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() });
    }
    response
      .writeHead(status, { "Content-Type": "application/json" })
      .end(JSON.stringify(body ?? { ok: false }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    answerNext: (...answers) => {
      next = answers;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
