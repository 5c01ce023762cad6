/** What the first bytes of a TLS connection say. */
type HelloVerdict = { kind: "more" } | { kind: "refused"; why: string } | { kind: "name"; name: string };

/** A hello with the largest keys of today has two thousand bytes; a server's session ticket may add some. */
const helloBytesMax = 16 * 1024;

const recordHandshake = 22;
const clientHello = 1;
const extensionServerName = 0;
/** Encrypted client hello, in the version that was standardized and in those of its drafts that programs still send. */
const extensionsEncrypted: ReadonlySet<number> = new Set([0xfe0d, 0xfe0a, 0xfe09, 0xfe08, 0xffce]);

/**
 * The server name in a client hello, which may be spread over several records. Only what can be read in one way is accepted:
 * one hello, one name in it, nothing encrypted. Why: ADR 0120.
 */
export function readClientHello(bytes: Buffer): HelloVerdict {
  const collected = collectHandshake(bytes);
  if ("kind" in collected) return collected;
  const { message } = collected;
  if (message.length < 4) return more(bytes);
  if (message[0] !== clientHello) return refused("it does not begin with a client hello");
  const length = message.readUIntBE(1, 3);
  if (length > helloBytesMax) return refused("its client hello is too long");
  if (message.length < 4 + length) return more(bytes);
  try {
    return readHello(new Reader(message.subarray(4, 4 + length)));
  } catch (error) {
    if (error instanceof RangeError) return refused("its client hello is malformed");
    throw error;
  }
}

/** The handshake bytes of the records so far. */
function collectHandshake(bytes: Buffer): HelloVerdict | { message: Buffer } {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== recordHandshake) return refused("it is not TLS");
    if (bytes.length - at >= 2 && bytes[at + 1] !== 3) return refused("it is not TLS");
    if (bytes.length - at < 5) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > helloBytesMax) return refused("it is not TLS");
    parts.push(bytes.subarray(at + 5, Math.min(bytes.length, at + 5 + length)));
    at += 5 + length;
  }
  return { message: parts.length === 1 ? parts[0]! : Buffer.concat(parts) };
}

function readHello(hello: Reader): HelloVerdict {
  hello.skip(2 + 32);
  hello.block(1);
  hello.block(2);
  hello.block(1);
  if (hello.isAtEnd) return refused("it names no server");
  const extensions = hello.block(2);
  let name: string | undefined;
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const content = extensions.block(2);
    if (extensionsEncrypted.has(type)) return refused("its client hello is encrypted");
    if (type !== extensionServerName) continue;
    if (name !== undefined) return refused("it names several servers");
    name = readServerName(content);
    if (name === undefined) return refused("its client hello is malformed");
  }
  return name === undefined ? refused("it names no server") : { kind: "name", name };
}

/** A list of one host name. */
function readServerName(content: Reader): string | undefined {
  const list = content.block(2);
  const type = list.number(1);
  const name = list.block(2).rest();
  return type === 0 && list.isAtEnd && content.isAtEnd ? name.toString("latin1").toLowerCase() : undefined;
}

function more(bytes: Buffer): HelloVerdict {
  return bytes.length > helloBytesMax ? refused("its client hello is too long") : { kind: "more" };
}

function refused(why: string): HelloVerdict {
  return { kind: "refused", why };
}

/** Reads numbers and blocks with their length in front; throws a RangeError behind the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length) throw new RangeError("behind the end");
    this.#at += count;
  }

  number(size: 1 | 2): number {
    const value = this.#bytes.readUIntBE(this.#at, size);
    this.#at += size;
    return value;
  }

  block(lengthSize: 1 | 2): Reader {
    const length = this.number(lengthSize);
    const from = this.#at;
    this.skip(length);
    return new Reader(this.#bytes.subarray(from, this.#at));
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }
}
