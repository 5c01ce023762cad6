import type { ServerResponse } from "node:http";

/** An answer of the proxy itself; one that has begun already is cut off. */
export function answerText(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "text/plain", connection: "close" });
  response.end(`${text}\n`);
}
