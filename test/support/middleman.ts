import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type ClaimAnswer = {
  jobs: { id: string; document: string; lease: string; [field: string]: unknown }[];
  batch: Record<string, unknown>;
};

/** Somebody between a worker and its hub, who may change what the hub answers. */
export type Middleman = {
  url: string;
  /** What becomes of the next answer that holds jobs; undefined passes it on as it is. */
  onClaim: ((answer: ClaimAnswer) => unknown) | undefined;
  /** What becomes of every answer about keys. */
  onKeys: ((answer: Record<string, unknown>) => unknown) | undefined;
  /** Every answer with jobs that went through unchanged or changed, as the hub gave it. */
  readonly claims: ClaimAnswer[];
  stop(): Promise<void>;
};

export async function startMiddleman(hubPort: number): Promise<Middleman> {
  const server = createServer((incoming, outgoing) => pass(hubPort, middleman, incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const middleman: Middleman = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onClaim: undefined,
    onKeys: undefined,
    claims: [],
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return middleman;
}

function pass(port: number, middleman: Middleman, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, url: path, headers } = incoming;
  const forward = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    const { statusCode = 0 } = answer;
    const isClaim = statusCode === 200 && path?.endsWith("/jobs/claim-batch") === true;
    const isKeys = statusCode === 200 && path?.endsWith("/keys") === true;
    if (!isClaim && !isKeys) {
      outgoing.writeHead(statusCode, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      return;
    }
    void Array.fromAsync(answer as AsyncIterable<Buffer>).then((chunks) => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      const text = JSON.stringify(isClaim ? alterClaim(middleman, body) : (middleman.onKeys?.(body) ?? body));
      outgoing.writeHead(statusCode, { "content-type": "application/json" }).end(text);
    });
  });
  forward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forward.destroy());
  incoming.pipe(forward);
}

function alterClaim(middleman: Middleman, answer: ClaimAnswer): unknown {
  const { onClaim } = middleman;
  middleman.onClaim = undefined;
  middleman.claims.push(structuredClone(answer));
  return onClaim?.(answer) ?? answer;
}
