import { createMcpHandler } from "@modelcontextprotocol/server";
import { createServer, type ServerOptions } from "./create-server.ts";

type HttpRequest = {
  url: string;
  headers: Record<string, string>;
  /** The JSON of the body. */
  body: unknown;
  signal: AbortSignal;
};

type HttpAnswer = { status: number; headers: Record<string, string>; body: string };

/**
 * Answers one request whose caller is known. Nothing is kept between requests, so any hub answers any of them. Whatever the
 * client speaks, the whole answer is there at once: no tool reports progress. Why: ADR 0119.
 */
export async function answerHttp(options: ServerOptions, asked: HttpRequest): Promise<HttpAnswer> {
  const { url, headers, body, signal } = asked;
  const handler = createMcpHandler(() => createServer(options), {
    keepAliveMs: 0,
    // A stream on which nothing is ever sent would only hold a place.
    maxSubscriptions: 0,
  });
  try {
    const request = new Request(url, { method: "POST", headers, signal });
    const response = await handler.fetch(request, { parsedBody: body });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  } finally {
    await handler.close();
  }
}
