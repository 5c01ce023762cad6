import { harmful, neutralise, showAll } from "../../core/text/neutralise.ts";
import type { TextSink } from "../context.ts";

/** Like `neutralise`, but on one line: for table cells, names and messages. */
export function neutraliseLine(text: string): string {
  return neutralise(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** The same on one line, for the names of files. */
export function showName(name: string): string {
  return showAll(name).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** JSON in which unsafe characters are escaped; the value stays the same. */
export function safeJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value ?? null, null, indent) ?? "null").replaceAll(harmful, (found) =>
    [...found].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** Makes a job's output safe for a terminal, chunk by chunk. A character that is split between chunks stays whole. */
export class OutputNeutraliser {
  readonly #decoder = new TextDecoder();
  #rest = "";

  push(chunk: Uint8Array): string {
    return this.#take(this.#rest + this.#decoder.decode(chunk, { stream: true }));
  }

  end(): string {
    return neutralise(this.#rest + this.#decoder.decode());
  }

  /** Holds back an incomplete line end or colour code until the next chunk. */
  #take(text: string): string {
    const [open] = /(?:\r|\x1b(?:\[[0-9;:]{0,64})?)$/.exec(text) ?? [""];
    this.#rest = open;
    return neutralise(text.slice(0, text.length - open.length));
  }
}

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

type Paint = Record<keyof typeof codes, (text: string) => string>;

/** Colours text for a terminal; leaves it alone for a pipe, with NO_COLOR, or on a dumb terminal. */
export function paintFor(sink: TextSink, env: Readonly<Record<string, string | undefined>>): Paint {
  const isPainting = sink.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const paint = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (isPainting ? `\x1b[${on}m${text}\x1b[${off}m` : text),
  ]);
  return Object.fromEntries(paint) as Paint;
}
