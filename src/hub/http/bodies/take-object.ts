import type { IncomingMessage } from "node:http";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import { receiveUpload } from "../../use-cases/files/receive-upload.ts";
import type { Answer, Call } from "../call.ts";
import { overHttp } from "../exchange.ts";
import type { OpenBodies } from "./open-bodies.ts";
import { hungUp } from "./read-body.ts";
import { ticketOf } from "./ticket-of.ts";

/**
 * Receives the bytes of a file for a signed URL, whole or from the end of an earlier request. They are never all in
 * memory. Why: ADR 0093.
 */
export async function putObject(call: Call<"putObject">): Promise<Answer<"putObject">> {
  const { deps, identity, origin, exchange } = call;
  const { incoming } = overHttp(exchange);
  const ticket = ticketOf(call);
  const encoding = incoming.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new WritError("UNSUPPORTED_MEDIA_TYPE", `the body must not be compressed (${encoding})`);
  }
  const caller = `files of ${ticket.tenantId} ${ticket.userId}`;
  const { size, sha256 } = await receiveUpload(deps, {
    ticket,
    identity,
    origin,
    ...partOf(incoming),
    bytes: (signal) => bodyPieces(incoming, { bodies: deps.bodies, caller, signal }),
  });
  const headers = { "Upload-Offset": String(size) };
  return { status: sha256 === null ? 202 : 201, body: { size, sha256 }, headers };
}

/** The range of the file that this request contains. */
function partOf(incoming: IncomingMessage): { offset: number; end: number | null; total: number | null } {
  const { "content-range": range, "content-length": length } = incoming.headers;
  if (range === undefined)
    return { offset: 0, end: null, total: length === undefined ? null : Number(length) };
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(range);
  const [offset = 0, last = 0, total = 0] = match?.slice(1).map(Number) ?? [];
  const isRange = match !== null && offset <= last && last < total;
  if (!isRange || (length !== undefined && Number(length) !== last - offset + 1)) {
    const message = "must have the form bytes 100-199/200, with the length of the body";
    throw invalidArgument({ path: "Content-Range", message });
  }
  return { offset, end: last + 1, total };
}

/**
 * The body in pieces, each read when the one before was taken. Uses events, because a loop over the stream would close
 * the connection when it ends early, before the refusal is sent.
 */
async function* bodyPieces(
  incoming: IncomingMessage,
  { bodies, caller, signal }: { bodies: OpenBodies; caller: string; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  let failure: Error | null = incoming.destroyed && !incoming.readableEnded ? hungUp : null;
  let waiting = Promise.withResolvers<void>();
  const wake = (): void => waiting.resolve();
  const fail = (error: Error): void => {
    failure ??= error;
    wake();
  };
  const onClose = (): void => (incoming.readableEnded ? wake() : fail(hungUp));
  const onAbort = (): void =>
    fail(new WritError("STATE_CONFLICT", "a newer request for this upload has replaced this one"));
  const body = bodies.open(caller, fail);
  incoming.on("readable", wake).once("end", wake).once("error", onClose).once("close", onClose);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (failure === null) {
      const piece = incoming.read() as Buffer | null;
      if (piece !== null) {
        body.received(piece.length);
        yield piece;
      } else if (incoming.readableEnded) {
        return;
      } else {
        await waiting.promise;
        waiting = Promise.withResolvers<void>();
      }
    }
    throw failure;
  } finally {
    body.close();
    signal.removeEventListener("abort", onAbort);
    incoming.off("readable", wake).off("end", wake).off("close", onClose);
  }
}
