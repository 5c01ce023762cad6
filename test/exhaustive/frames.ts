/** `→` to the server, `←` to the hub. */
export type Direction = "→" | "←";

/** One message of PostgreSQL's protocol, with the bytes that it came in. */
export type Frame = { type: string; bytes: Buffer };

/** Cuts a stream of bytes into the messages of PostgreSQL's protocol. The first one of a client has no letter. */
export class FrameReader {
  #left = Buffer.alloc(0);
  #isStart: boolean;
  readonly #names: Record<string, string>;

  constructor(direction: Direction) {
    this.#isStart = direction === "→";
    this.#names = direction === "→" ? toServer : toHub;
  }

  read(bytes: Buffer): Frame[] {
    this.#left = Buffer.concat([this.#left, bytes]);
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | null {
    const lengthAt = this.#isStart ? 0 : 1;
    if (this.#left.length < lengthAt + 4) return null;
    const end = lengthAt + this.#left.readUInt32BE(lengthAt);
    if (this.#left.length < end) return null;
    const bytes = this.#left.subarray(0, end);
    this.#left = this.#left.subarray(end);
    const letter = String.fromCharCode(bytes[0]!);
    const type = this.#isStart ? "Startup" : (this.#names[letter] ?? letter);
    this.#isStart = false;
    return { type, bytes };
  }
}

/** The SQL of a message that holds some; "" for all others. */
export function sqlOf({ type, bytes }: Frame): string {
  if (type === "Query") return textAt(bytes, 5);
  if (type === "Parse") return textAt(bytes, bytes.indexOf(0, 5) + 1);
  return "";
}

/** Of the process that serves the connection, from the message in which the server names it. */
export function processIdOf({ bytes }: Frame): number {
  return bytes.readUInt32BE(5);
}

/** The server answers each of these with ReadyForQuery. */
export function isAnswered({ type }: Frame): boolean {
  return type === "Sync" || type === "Query" || type === "Startup";
}

function textAt(bytes: Buffer, at: number): string {
  return bytes.toString("utf8", at, bytes.indexOf(0, at)).replaceAll(/\s+/g, " ").trim();
}

const toServer = {
  B: "Bind",
  D: "Describe",
  E: "Execute",
  P: "Parse",
  Q: "Query",
  S: "Sync",
  X: "Terminate",
};

const toHub = {
  "1": "ParseComplete",
  "2": "BindComplete",
  A: "Notification",
  C: "CommandComplete",
  D: "DataRow",
  E: "ErrorResponse",
  I: "EmptyQuery",
  K: "BackendKeyData",
  N: "Notice",
  R: "Authentication",
  S: "ParameterStatus",
  T: "RowDescription",
  Z: "ReadyForQuery",
  n: "NoData",
};
