import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { EgressHost } from "../../core/egress.ts";
import { readClientHello } from "./client-hello.ts";
import { connectChecked } from "./connect-checked.ts";
import { DownloadRing } from "./download-ring.ts";
import { type EgressAttempt, endWith, greetingMs, idleMs, textOf } from "./egress-attempt.ts";
import { nextChunk } from "./next-chunk.ts";

/** The port on which only TLS to the allowed name is spoken. */
const tlsPort = 443;

/** A connection of the job that shall lead to a host. */
type TunnelRequest = {
  client: Duplex;
  /** What has arrived of it already. */
  head: Buffer;
  wanted: EgressHost;
  /** Tells the job that the way is open. */
  open(): void;
};

/**
 * Connects a program of the job with a host. On port 443 nothing is passed on before the program has begun TLS with the name
 * that it is allowed to reach; on other ports everything is. Rejects with NotConnected before the way was opened. Why: ADR 0120.
 */
export async function openTunnel(attempt: EgressAttempt, request: TunnelRequest): Promise<void> {
  const { client, wanted } = request;
  const ring = new DownloadRing((count) => attempt.log.addBytes(count));
  const { signal } = attempt;
  const server = await connectChecked(attempt, wanted, { signal, onread: ring.onread });
  if (client.destroyed) return void server.destroy();
  endWith(server, signal);
  attempt.log.allow(textOf(wanted));
  request.open();
  const first = wanted.port === tlsPort ? await greeting(attempt, request) : request.head;
  if (first === null) return void server.destroy();
  join(attempt, { client, server, first, ring });
}

/** The client hello with the right name; null if there was none, and then the connection is over. */
async function greeting(
  { log, clock }: EgressAttempt,
  { client, head, wanted }: TunnelRequest,
): Promise<Buffer | null> {
  let bytes = head;
  const timer = clock.setTimer(() => client.destroy(), greetingMs);
  const refuse = (why: string): null => {
    log.takeBack(textOf(wanted), why);
    client.destroy();
    return null;
  };
  try {
    for (;;) {
      const verdict = readClientHello(bytes);
      if (verdict.kind === "refused") return refuse(verdict.why);
      if (verdict.kind === "name") {
        const isRight = verdict.name.replace(/\.$/, "") === wanted.host;
        return isRight ? bytes : refuse("it is TLS with another server");
      }
      const more = await nextChunk(client);
      if (more === null) return bytes.length === 0 ? null : refuse("it is not TLS");
      bytes = Buffer.concat([bytes, more]);
    }
  } finally {
    timer.cancel();
  }
}

type Joined = { client: Duplex; server: Socket; first: Buffer; ring: DownloadRing };

/** Passes on both ways until both sides have ended. */
function join({ log }: EgressAttempt, { client, server, first, ring }: Joined): void {
  const end = (): void => {
    client.destroy();
    server.destroy();
  };
  log.addBytes(first.length);
  if (first.length > 0) server.write(first);
  // Either direction is a sign of life of both.
  server.setTimeout(idleMs, end);
  client.on("data", (chunk: Buffer) => log.addBytes(chunk.length));
  client.on("error", end);
  server.on("error", end);
  client.once("close", () => server.destroy());
  server.once("close", () => {
    // What the server sent last may still be on its way to the client.
    if (!client.writableEnded) client.destroy();
  });
  client.pipe(server);
  ring.join(server, client);
}
