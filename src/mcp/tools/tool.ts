import type { z } from "zod";
import type { McpAct } from "../allowance.ts";
import type { McpHub } from "../mcp-hub.ts";

/** What a tool has beside its arguments. */
export type ToolCall = {
  hub: McpHub;
  /** Marks text that a job wrote, so that it is not taken for instructions. */
  mark(what: string, text: string): string;
};

/** What a tool returns: texts for the model, and the job that it has started, if it starts jobs. */
export type ToolAnswer = {
  texts: string[];
  isError?: boolean;
  startedJobId?: string;
};

export type Tool<Input extends z.ZodObject = z.ZodObject> = {
  name: string;
  title: string;
  description: string;
  /** What has to be allowed; reading needs nothing. */
  act?: McpAct;
  /** Hints of the protocol about what a call changes. */
  hints: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  input: Input;
  answer(call: ToolCall, input: z.output<Input>): Promise<ToolAnswer>;
};

export const reads = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** What runs on a worker may do anything that its cage and its network allow. */
export const runsWork = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const;

/** Keeps the exact type of the arguments inside the tool; the table holds tools of any. */
export function tool<Input extends z.ZodObject>(made: Tool<Input>): Tool {
  return made as unknown as Tool;
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 1);
}
