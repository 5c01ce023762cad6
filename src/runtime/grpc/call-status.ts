import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http2";
import {
  codeOfStatus,
  type ErrorCode,
  errorTable,
  type GrpcStatus,
  grpcStatuses,
  isErrorCode,
  WritError,
} from "../../core/errors.ts";

/** How a call ended: a status of gRPC, a sentence, and further details. Why: ADR 0115. */
export type CallStatus = { status: GrpcStatus; message: string; metadata: Record<string, string> };

/** gRPC has fewer codes than our table, so ours is sent beside it, and the id under which the hub's log has the refusal. */
const codeHeader = "writ-code";
const requestIdHeader = "writ-request-id";

/** The status for an error of the table. */
export function statusOfError({ code, message }: WritError, requestId?: string): CallStatus {
  const metadata = {
    [codeHeader]: code,
    ...(requestId === undefined ? {} : { [requestIdHeader]: requestId }),
  };
  return { status: errorTable[code].grpc, message, metadata };
}

/** The error behind a status, and the details that a hub sends with it. */
export function errorOfStatus(headers: IncomingHttpHeaders): WritError {
  const text = (name: string): string | undefined => headers[name]?.toString();
  const status = grpcStatuses[Number(text("grpc-status"))] ?? "UNKNOWN";
  const requestId = text(requestIdHeader);
  const details = requestId === undefined ? {} : { request_id: requestId };
  const message = decodeText(text("grpc-message") ?? "") || `the hub answered with ${status}`;
  return new WritError(codeFor(status, text(codeHeader)), message, details);
}

function codeFor(status: GrpcStatus, named: string | undefined): ErrorCode {
  // The status decides; the code only says which of its rows is meant.
  const isRight = named !== undefined && isErrorCode(named) && errorTable[named].grpc === status;
  return isRight ? named : (codeOfStatus[status] ?? "INTERNAL");
}

/** The headers or trailers that tell it. */
export function statusHeaders({ status, message, metadata }: CallStatus): Record<string, string> {
  const number = String(grpcStatuses.indexOf(status));
  return { ...metadata, "grpc-status": number, "grpc-message": encodeText(message) };
}

/** Many clients refuse a call whose headers have more than 8 KiB, and then show neither the message nor its code. */
const encodedCharsMax = 4_096;

/**
 * Text as gRPC encodes it in `grpc-message`: only non-ASCII characters and the percent sign are encoded. Some clients
 * decode no more than that, and would show a colon as %3A. What is too long is cut between two characters.
 */
function encodeText(text: string): string {
  let encoded = "";
  for (const character of text) {
    const next = encode(character);
    if (encoded.length + next.length > encodedCharsMax) return `${encoded}...`;
    encoded += next;
  }
  return encoded;
}

function encode(character: string): string {
  let encoded = "";
  for (const byte of Buffer.from(character)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A server that does not encode its message is shown as it wrote it.
    return text;
  }
}
