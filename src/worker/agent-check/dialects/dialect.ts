/** How one family of programs speaks to a model over HTTP. */
export type Dialect = {
  /** Whether a request to this path is a turn of a conversation in this dialect. */
  isTurn(path: string): boolean;
  /** What the program has sent so far. */
  read(body: JsonRecord): Turn;
  /** Whether the program requests the answer in pieces. */
  isStreamed(path: string, body: JsonRecord): boolean;
  /** The answer as server-sent events, in order, or as one object. */
  stream(reply: Reply): StreamEvent[];
  whole(reply: Reply): object;
};

export type JsonRecord = Readonly<Record<string, unknown>>;

/** A tool that a program offers to its model. `properties` and `required` are those of its JSON schema. */
export type Tool = { name: string; properties: Record<string, JsonRecord>; required: string[] };

/** A tool that the model has called, with its arguments as text. */
type Called = { name: string; args: string };

export type Turn = {
  model: string;
  /** The text of people, programs and tools, without the descriptions of the tools. */
  text: string;
  tools: Tool[];
  /** In the order in which they were called. */
  calls: Called[];
  /** The result of the last call; empty if there is none. */
  lastResult: string;
};

/** The model's next act: it calls one tool, or it ends the conversation with a text. */
export type Reply = { model: string; id: string } & (
  | { say: string }
  | { call: { name: string; args: Readonly<Record<string, unknown>> } }
);

type StreamEvent = { event?: string; data: object | string };

/** Few enough not to matter, and enough to see that the program counts them. */
export const tokens = { input: 100, output: 20 } as const;

export function record(value: unknown): JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : {};
}

export function records(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.map(record) : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

/** Every string in a value, at any depth. */
export function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(wordsIn).join("\n");
}

export function toolOf(name: unknown, schema: unknown): Tool {
  const { properties, required } = record(schema);
  const fields = Object.entries(record(properties)).map(([key, value]) => [key, record(value)] as const);
  return {
    name: text(name),
    properties: Object.fromEntries(fields),
    required: Array.isArray(required) ? required.map(text) : [],
  };
}
