import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";

export type ReceivedCall = {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
};

export type ChatServer = {
  url: string;
  calls: ReceivedCall[];
  /** Resolves when the connection of the first call is closed. */
  closed: Promise<void>;
};

/** A server of models on this machine that answers as the test says. */
export async function startChatServer(
  answer: (response: ServerResponse, call: ReceivedCall, socket: Socket) => void | Promise<void>,
): Promise<ChatServer> {
  const calls: ReceivedCall[] = [];
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    request.socket.once("close", onClosed);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const call = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>,
    };
    calls.push(call);
    await answer(response, call, request.socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, closed };
}

export function ollamaLine(content: string, more: object = {}): string {
  return `${JSON.stringify({ model: "qwen3:8b", message: { role: "assistant", content }, done: false, ...more })}\n`;
}

export const ollamaEnd = ollamaLine("", {
  done: true,
  done_reason: "stop",
  prompt_eval_count: 26,
  eval_count: 298,
});

export function openAiEvent(content: string, more: object = {}): string {
  const choices = [{ index: 0, delta: { role: "assistant", content }, finish_reason: null, ...more }];
  return `data: ${JSON.stringify({ id: "gen-1", model: "vendor/model-2", choices })}\n\n`;
}

export const openAiEnd = [
  openAiEvent("", { finish_reason: "stop" }),
  `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 } })}\n\n`,
  "data: [DONE]\n\n",
].join("");
