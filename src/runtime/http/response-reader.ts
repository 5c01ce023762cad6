import { ConnectionFailure } from "./connection-failure.ts";

export type ResponseHead = {
  status: number;
  /** By name in lower case; several of one name are joined, as HTTP allows. */
  headers: Readonly<Record<string, string>>;
};

/** What the reader calls as a response arrives. */
export type ResponseParts = {
  /** The server agrees to be sent the body of the request (status 100). */
  onContinue?(): void;
  onHead?(head: ResponseHead): void;
  onBody(bytes: Buffer): void;
};

/** What arrived is not a response as HTTP/1.1 describes it, or it is longer than allowed. */
export class ResponseProblem extends ConnectionFailure {
  readonly isTooLarge: boolean;

  constructor(what: string, isTooLarge = false) {
    super(isTooLarge ? what : `the response is no HTTP: ${what}`, { wasStale: false, wasSent: true });
    this.name = "ResponseProblem";
    this.isTooLarge = isTooLarge;
  }
}

/** As much as Node's own client accepts. */
const headBytesMax = 16 * 1024;

type State = "status" | "headers" | "body" | "chunk size" | "chunk" | "chunk end" | "trailers" | "whole";

type ReaderOptions = {
  bodyBytesMax: number;
  /** The response to HEAD has the length of a body, and no body. */
  isBodyless?: boolean;
};

/** Reads one response, in pieces of any size. Why: ADR 0060, ADR 0113. */
export class ResponseReader {
  readonly #parts: ResponseParts;
  readonly #bodyBytesMax: number;
  readonly #isBodyless: boolean;
  #state: State = "status";
  #status = 0;
  #isHttp10 = false;
  #headers: Record<string, string> = Object.create(null);
  #bodyBytes = 0;
  /** Of the body or of the current chunk; infinite if the body ends with the connection. */
  #left = 0;
  /** The beginning of a line whose end has not arrived. */
  #line = "";
  #headBytes = 0;
  #hasStarted = false;
  #hasMore = false;

  constructor(parts: ResponseParts, { bodyBytesMax, isBodyless = false }: ReaderOptions) {
    this.#parts = parts;
    this.#bodyBytesMax = bodyBytesMax;
    this.#isBodyless = isBodyless;
  }

  /** Whether anything of it has arrived. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  get hasHead(): boolean {
    return this.#state !== "status" && this.#state !== "headers";
  }

  /** Takes what has arrived; returns true as soon as the response is whole. Throws a ResponseProblem. */
  push(bytes: Buffer): boolean {
    this.#hasStarted = true;
    let offset = 0;
    while (offset < bytes.length && this.#state !== "whole") {
      offset =
        this.#state === "body" || this.#state === "chunk"
          ? this.#readBody(bytes, offset)
          : this.#readLine(bytes, offset);
    }
    this.#hasMore = offset < bytes.length;
    return this.#state === "whole";
  }

  /** The connection has ended; true if that was the end of the response. */
  end(): boolean {
    if (this.#state === "body" && this.#left === Number.POSITIVE_INFINITY) this.#state = "whole";
    return this.#state === "whole";
  }

  /** How long the server keeps the connection for another request, as its header says. */
  get keptSec(): number {
    const seconds = /\btimeout=(\d{1,9})/.exec(this.#headers["keep-alive"] ?? "")?.[1];
    return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds);
  }

  /** Whether the connection can be used for another request. */
  get keepsConnection(): boolean {
    if (this.#hasMore || this.#left === Number.POSITIVE_INFINITY) return false;
    const connection = this.#headers["connection"]?.toLowerCase();
    return this.#isHttp10 ? connection === "keep-alive" : connection !== "close";
  }

  #readBody(bytes: Buffer, offset: number): number {
    const end = Math.min(bytes.length, offset + this.#left);
    this.#bodyBytes += end - offset;
    if (this.#bodyBytes > this.#bodyBytesMax) throw tooLarge(this.#bodyBytesMax);
    this.#left -= end - offset;
    this.#parts.onBody(bytes.subarray(offset, end));
    if (this.#left === 0) this.#state = this.#state === "chunk" ? "chunk end" : "whole";
    return end;
  }

  #readLine(bytes: Buffer, offset: number): number {
    const end = bytes.indexOf(newline, offset);
    const isWhole = end !== -1;
    const piece = bytes.toString("latin1", offset, isWhole ? end : bytes.length);
    this.#headBytes += piece.length;
    if (this.#headBytes > headBytesMax) throw new ResponseProblem("its head is too long");
    this.#line += piece;
    if (!isWhole) return bytes.length;
    const line = this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line;
    this.#line = "";
    this.#take(line);
    return end + 1;
  }

  #take(line: string): void {
    if (this.#state === "status") this.#takeStatus(line);
    else if (this.#state === "headers") this.#takeHeader(line);
    else if (this.#state === "chunk size") this.#takeChunkSize(line);
    else if (this.#state === "chunk end") {
      if (line !== "") throw new ResponseProblem("a chunk is longer than its size");
      this.#state = "chunk size";
      this.#headBytes = 0;
    } else if (line === "") this.#state = "whole";
  }

  #takeStatus(line: string): void {
    const match = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(line);
    if (match === null) throw new ResponseProblem("it is not HTTP/1.1");
    this.#isHttp10 = match[1] === "0";
    this.#status = Number(match[2]);
    this.#state = "headers";
  }

  #takeHeader(line: string): void {
    if (line === "") {
      this.#beginBody();
      return;
    }
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    // A name with a space, or a line that continues the one before it, could be read in two ways.
    if (colon < 1 || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name))
      throw new ResponseProblem("a header has no valid name");
    const key = name.toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = this.#headers[key];
    if (key === "content-length" && before !== undefined && before !== value)
      throw new ResponseProblem("it has two lengths");
    this.#headers[key] = before === undefined || key === "content-length" ? value : `${before}, ${value}`;
  }

  #beginBody(): void {
    this.#headBytes = 0;
    if (this.#status < 200) {
      // An answer such as 103 comes before the one that counts.
      if (this.#status === 101) throw new ResponseProblem("it changes the protocol");
      if (this.#status === 100) this.#parts.onContinue?.();
      this.#headers = Object.create(null);
      this.#state = "status";
      return;
    }
    if (this.#isBodyless || this.#status === 204 || this.#status === 304) this.#state = "whole";
    else this.#findLength();
    this.#parts.onHead?.({ status: this.#status, headers: this.#headers });
  }

  #findLength(): void {
    const { "content-length": length, "transfer-encoding": encoding } = this.#headers;
    if (encoding !== undefined) {
      if (encoding.toLowerCase() !== "chunked" || length !== undefined)
        throw new ResponseProblem("its length cannot be told");
      this.#state = "chunk size";
      return;
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new ResponseProblem("its length is not a number");
    this.#left = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
    if (length !== undefined && this.#left > this.#bodyBytesMax) throw tooLarge(this.#bodyBytesMax);
    this.#state = this.#left === 0 ? "whole" : "body";
  }

  #takeChunkSize(line: string): void {
    const match = /^([0-9a-fA-F]{1,8})(?:[ \t]*;.*)?$/.exec(line);
    if (match === null) throw new ResponseProblem("a chunk has no valid size");
    this.#left = Number.parseInt(match[1]!, 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk";
  }
}

const newline = 0x0a;

function tooLarge(bytesMax: number): ResponseProblem {
  return new ResponseProblem(`it is larger than ${bytesMax} bytes`, true);
}
