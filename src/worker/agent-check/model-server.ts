import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicMessages } from "./dialects/anthropic-messages.ts";
import { type Dialect, type JsonRecord, type Reply, record, type Turn } from "./dialects/dialect.ts";
import { geminiContent } from "./dialects/gemini-content.ts";
import { openaiChat } from "./dialects/openai-chat.ts";
import { openaiResponses } from "./dialects/openai-responses.ts";

const dialects: readonly Dialect[] = [anthropicMessages, openaiResponses, openaiChat, geminiContent];

/** A conversation of a few turns has far less. */
const bodyBytesMax = 32 * 1024 ** 2;

export type ModelServer = {
  /** Without a path: each dialect adds its own. */
  url: string;
  close(): Promise<void>;
};

/** The model's next act after a turn. */
export type Answer = (turn: Turn) => { say: string } | { call: Extract<Reply, { call: object }>["call"] };

/**
 * A model on loopback without any intelligence: `answer` decides what it does. It speaks the dialects of coding agents,
 * in pieces or whole, and requires no key. Why: ADR 0103.
 */
export async function startModelServer(answer: Answer): Promise<ModelServer> {
  let turns = 0;
  const server = createServer((request, response) => {
    turns += 1;
    // The agent sees a broken connection, which its trial then reports.
    serve(request, response, { answer, id: `writ${turns}` }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { answer, id }: { answer: Answer; id: string },
): Promise<void> {
  const path = new URL(request.url ?? "/", "http://model").pathname;
  const dialect = dialects.find(({ isTurn }) => isTurn(path));
  const body = await readBody(request);
  // A program that prefers a web socket continues without one after this answer.
  if (request.headers.upgrade !== undefined) return sendJson(response, 426, {});
  if (request.method !== "POST" || dialect === undefined) return sendOther(response, path);
  const turn = dialect.read(body);
  const reply: Reply = { model: turn.model, id, ...answer(turn) };
  if (!dialect.isStreamed(path, body)) return sendJson(response, 200, dialect.whole(reply));
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  for (const { event, data } of dialect.stream(reply)) {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
  }
  response.end();
}

/** Answers other requests of programs: for the length of a text, and for the list of models. */
function sendOther(response: ServerResponse, path: string): void {
  const known = others.find(({ end }) => path.endsWith(end));
  const error = { type: "not_found_error", message: `nothing is served at ${path}` };
  sendJson(response, known === undefined ? 404 : 200, known?.body ?? { error });
}

const others = [
  { end: "/count_tokens", body: { input_tokens: 1 } },
  { end: ":countTokens", body: { totalTokens: 1 } },
  { end: "/models", body: { object: "list", data: [], models: [] } },
];

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<JsonRecord> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bodyBytesMax) throw new Error(`a request has more than ${bodyBytesMax} bytes`);
    pieces.push(piece);
  }
  return bytes === 0 ? {} : record(JSON.parse(Buffer.concat(pieces).toString("utf8")));
}
