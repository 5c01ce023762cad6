import { openObject, type ReadableObject } from "../../use-cases/files/read-object.ts";
import { uploadProgress } from "../../use-cases/files/receive-upload.ts";
import { type Answer, type Call, written } from "../call.ts";
import { type Exchange, headerOf, overHttp } from "../exchange.ts";
import { parseRange } from "../streams/stream-output.ts";
import { drained, endAnswer } from "./drained.ts";
import { ticketOf } from "./ticket-of.ts";

/**
 * Sends the bytes of a file for a signed URL, all or a range of them. HEAD answers with the headers only, and works for
 * an unfinished upload too.
 */
export async function getObject(call: Call<"getObject">): Promise<Answer<"getObject">> {
  const { deps, exchange } = call;
  const ticket = ticketOf(call);
  if (ticket.method === "PUT") {
    const { size, isComplete } = await uploadProgress(deps, ticket);
    return head(exchange, 200, {
      "Upload-Offset": String(size),
      "Upload-Complete": isComplete ? "?1" : "?0",
      "Content-Length": "0",
    });
  }
  const object = await openObject(deps, ticket);
  const range = parseRange(headerOf(exchange, "range"), object.size, "file");
  const { start, end } = range ?? { start: 0, end: object.size };
  const status = range === null ? 200 : 206;
  const headers = {
    ...headersOf(object, ticket.imageType),
    "Content-Length": String(end - start),
    ...(range === null ? {} : { "Content-Range": `bytes ${start}-${end - 1}/${object.size}` }),
  };
  if (exchange.incoming.method === "HEAD") return head(exchange, status, headers);
  return send(call, object, { start, end, status, headers });
}

async function send(
  { deps: { clock }, exchange }: Call<"getObject">,
  object: ReadableObject,
  {
    start,
    end,
    status,
    headers,
  }: { start: number; end: number; status: 200 | 206; headers: Record<string, string> },
): Promise<Answer<"getObject">> {
  const { outgoing } = overHttp(exchange);
  outgoing.writeHead(status, headers);
  for await (const piece of object.read(start, end)) {
    if (outgoing.destroyed) break;
    if (!outgoing.write(piece)) await drained(outgoing, clock);
  }
  endAnswer(outgoing, clock);
  return { status, body: written };
}

function head(exchange: Exchange, status: 200 | 206, headers: Record<string, string>): Answer<"getObject"> {
  const { outgoing } = overHttp(exchange);
  outgoing.writeHead(status, { "Content-Type": "application/octet-stream", ...headers });
  outgoing.end();
  return { status, body: written };
}

function headersOf({ file }: ReadableObject, imageType: string | undefined): Record<string, string> {
  const name = file.objectKey.split("/").at(-1)!;
  return {
    "Content-Type": imageType ?? "application/octet-stream",
    "Content-Disposition": imageType === undefined ? `attachment; filename="${name}"` : "inline",
    "Cache-Control": "private, no-store",
    // A browser must never treat a stored file as a page of the hub.
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Accept-Ranges": "bytes",
    ETag: `"${file.sha256}"`,
  };
}
