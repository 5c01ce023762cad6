/**
 * The frames of an upgraded connection: four bytes with the length of the rest, one with the kind, four with the number
 * of the request, then what the kind says. Numbers are big-endian. docs/api.md has the table. Why: ADR 0126.
 */
export const frameKinds = {
  /** Two bytes with the length of the head, the head, the body. */
  request: 1,
  /** Two bytes with the status, two with the length of the head, the head, the body. */
  answer: 2,
  /** The caller no longer waits; the answer comes all the same, and is short. */
  cancel: 3,
  /** Four bytes: so many more bytes of answers may be sent. */
  credit: 4,
  ping: 5,
  pong: 6,
  /** Requests after the one with this number will not be looked at. */
  stop: 7,
  /** The reason, as text; the connection ends after it. */
  close: 8,
} as const;

export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

/** The first four bytes count what follows them. */
export const lengthBytes = 4;
export const frameHeadBytes = 9;
export const frameHeadMax = 16 * 1024;
/** Larger bodies go over HTTP: they would hold up what follows them on the connection. */
export const requestBodyMax = 1024 ** 2;
export const requestFrameMax = frameHeadBytes + 2 + frameHeadMax + requestBodyMax;

/** What the protocol is called in the header `Upgrade`. */
export const wireProtocol = "writ-frames";
/** Where a connection is upgraded, below a hub's address. */
export const wirePath = "/api/v1/frames";
/** The header in which each side tells its limits. */
export const wireHeader = "writ-frames";
/** Of an answer: this is not served in frames, and nothing was done. The caller sends it over HTTP. */
export const elsewhereStatus = 421;

export type WireLimits = {
  /** How many bytes of frames may be sent that have not been given back. */
  credit: number;
  /** How many requests may be open at once. */
  requests: number;
};

export function writeLimits({ credit, requests }: WireLimits): string {
  return `1; credit=${credit}; requests=${requests}`;
}

/** Null if they are missing, of another version, or no numbers. */
export function readLimits(text: string | undefined): WireLimits | null {
  const match = /^1; credit=(\d{1,9}); requests=(\d{1,6})$/.exec(text ?? "");
  if (match === null) return null;
  const [credit, requests] = [Number(match[1]), Number(match[2])];
  return credit === 0 || requests === 0 ? null : { credit, requests };
}

/** A frame of 100 MB is no request of ours, so its head fits as a number of two bytes. */
export function requestFrame(id: number, head: string, body: Uint8Array | undefined): Buffer {
  const bodyBytes = body?.byteLength ?? 0;
  const frame = newFrame(frameKinds.request, id, 2 + head.length + bodyBytes);
  frame.writeUInt16BE(head.length, frameHeadBytes);
  frame.write(head, frameHeadBytes + 2, "latin1");
  if (body !== undefined) frame.set(body, frameHeadBytes + 2 + head.length);
  return frame;
}

export type WireAnswer = { status: number; head: string; body: string | Uint8Array | null };

export function answerFrame(id: number, { status, head, body }: WireAnswer): Buffer {
  const bodyBytes = body === null ? 0 : Buffer.byteLength(body);
  const frame = newFrame(frameKinds.answer, id, 4 + head.length + bodyBytes);
  frame.writeUInt16BE(status, frameHeadBytes);
  frame.writeUInt16BE(head.length, frameHeadBytes + 2);
  const start = frame.write(head, frameHeadBytes + 4, "latin1") + frameHeadBytes + 4;
  if (typeof body === "string") frame.write(body, start);
  else if (body !== null) frame.set(body, start);
  return frame;
}

export function numberFrame(kind: FrameKind, id: number, value: number): Buffer {
  const frame = newFrame(kind, id, 4);
  frame.writeUInt32BE(value, frameHeadBytes);
  return frame;
}

export function plainFrame(kind: FrameKind, id = 0, payload: Uint8Array = nothing): Buffer {
  const frame = newFrame(kind, id, payload.byteLength);
  frame.set(payload, frameHeadBytes);
  return frame;
}

const nothing = new Uint8Array(0);

function newFrame(kind: FrameKind, id: number, payloadBytes: number): Buffer {
  const frame = Buffer.allocUnsafe(frameHeadBytes + payloadBytes);
  frame.writeUInt32BE(frameHeadBytes - lengthBytes + payloadBytes, 0);
  frame[lengthBytes] = kind;
  frame.writeUInt32BE(id, lengthBytes + 1);
  return frame;
}
