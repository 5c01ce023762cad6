import { WritError } from "../../core/errors.ts";
import { LineSplitter } from "../line-splitter.ts";

export type SseEvent = { id?: string; event: string; data: string };

// Our own events are far below this; the bound keeps a broken server from filling the memory.
const eventCharsMax = 8 * 1024 * 1024;

/** Reads server-sent events as the HTML standard defines them: an unfinished event at the end is dropped. */
export async function* parseSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent> {
  const lines = new LineSplitter();
  const events = new EventBuilder();
  // The decoder also removes a byte order mark, and keeps characters whole that are split between two chunks.
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    for (const line of lines.push(decoder.decode(chunk, { stream: true }))) {
      const event = events.push(line);
      if (event !== undefined) yield event;
    }
  }
}

export function formatSse({ id, event, data }: SseEvent): string {
  // A line break here would let the content forge events.
  if (/[\r\n\0]/.test(event) || (id !== undefined && /[\r\n\0]/.test(id))) {
    throw new TypeError("id and event of a server-sent event must be one line");
  }
  const dataLines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\n${dataLines.join("")}\n`;
}

class EventBuilder {
  #lastId: string | undefined;
  #event = "";
  #data: string[] = [];
  #dataChars = 0;

  push(line: string): SseEvent | undefined {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const raw = colon === -1 ? "" : line.slice(colon + 1);
    this.#set(field, raw.startsWith(" ") ? raw.slice(1) : raw);
    return undefined;
  }

  /** A comment has an empty field name and is ignored, as is every unknown field. */
  #set(field: string, value: string): void {
    if (field === "event") this.#event = value;
    if (field === "id" && !value.includes("\0")) this.#lastId = value;
    if (field !== "data") return;
    this.#dataChars += value.length + 1;
    if (this.#dataChars > eventCharsMax) {
      throw new WritError("HTTP_ERROR", `a server-sent event is longer than ${eventCharsMax} characters`);
    }
    this.#data.push(value);
  }

  #finish(): SseEvent | undefined {
    const { length } = this.#data;
    const event = { event: this.#event || "message", data: this.#data.join("\n") };
    this.#event = "";
    this.#data = [];
    this.#dataChars = 0;
    if (length === 0) return undefined;
    // The last id stays in force until another one is sent, so every event says where to resume.
    return this.#lastId === undefined ? event : { id: this.#lastId, ...event };
  }
}
