import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { abilitiesHeader } from "../../src/contract/hub-abilities.ts";

export type ClaimAnswer = {
  jobs: { id: string; document: string; lease: string; [field: string]: unknown }[];
  batch: Record<string, unknown>;
};

/** Somebody between a worker and its hub, who may change what the hub answers. */
export type Middleman = {
  url: string;
  /** What becomes of the next answer that holds jobs; undefined passes it on as it is. */
  onClaim: ((answer: ClaimAnswer) => unknown) | undefined;
  /** The same for an answer with one lease, as text; only if the middleman lets workers ask for it. */
  onLease: ((text: string) => string) | undefined;
  /** What becomes of every answer about keys. */
  onKeys: ((answer: Record<string, unknown>) => unknown) | undefined;
  /** Every answer with jobs that went through unchanged or changed, as the hub gave it. */
  readonly claims: ClaimAnswer[];
  stop(): Promise<void>;
};

export async function startMiddleman(hubPort: number, { oneLease = false } = {}): Promise<Middleman> {
  const hub = { port: hubPort, oneLease };
  const server = createServer((incoming, outgoing) => pass(hub, middleman, incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const middleman: Middleman = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onClaim: undefined,
    onLease: undefined,
    onKeys: undefined,
    claims: [],
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return middleman;
}

function pass(
  { port, oneLease }: { port: number; oneLease: boolean },
  middleman: Middleman,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  const { method, url: path, headers } = incoming;
  const forward = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    const { statusCode = 0 } = answer;
    const isClaim = statusCode === 200 && path?.endsWith("/jobs/claim-batch") === true;
    const isKeys = statusCode === 200 && path?.endsWith("/keys") === true;
    if (!isClaim && !isKeys) {
      outgoing.writeHead(statusCode, oneLease ? answer.headers : withoutBatchLease(answer.headers));
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      return;
    }
    void Array.fromAsync(answer as AsyncIterable<Buffer>).then((chunks) => {
      const given = Buffer.concat(chunks).toString();
      if (isClaim && oneLease) {
        outgoing.writeHead(statusCode, { "content-type": "application/json" });
        outgoing.end(alterLease(middleman, given));
        return;
      }
      const body = JSON.parse(given);
      const text = JSON.stringify(isClaim ? alterClaim(middleman, body) : (middleman.onKeys?.(body) ?? body));
      outgoing.writeHead(statusCode, { "content-type": "application/json" }).end(text);
    });
  });
  forward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forward.destroy());
  incoming.pipe(forward);
}

/** So that workers ask for the form of the answer that this middleman can alter. */
function withoutBatchLease(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const name = abilitiesHeader.toLowerCase();
  const named = headers[name];
  return typeof named === "string" ? { ...headers, [name]: named.replace("batch-lease", "") } : headers;
}

function alterLease(middleman: Middleman, text: string): string {
  const { onLease } = middleman;
  middleman.onLease = undefined;
  return onLease?.(text) ?? text;
}

function alterClaim(middleman: Middleman, answer: ClaimAnswer): unknown {
  const { onClaim } = middleman;
  middleman.onClaim = undefined;
  middleman.claims.push(structuredClone(answer));
  return onClaim?.(answer) ?? answer;
}
