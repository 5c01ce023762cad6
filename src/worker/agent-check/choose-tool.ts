import type { JsonRecord, Tool } from "./dialects/dialect.ts";

/** What a model wants done. Paths are absolute. */
export type Wanted =
  | { act: "read"; path: string }
  | { act: "edit"; path: string; from: string; to: string }
  | { act: "run"; command: string };

type ToolCall = { name: string; args: Record<string, unknown> };

/** What tools for each act are called in the programs that we know, in lower case. */
const names: Readonly<Record<Wanted["act"], readonly string[]>> = {
  read: ["read", "read_file", "view"],
  edit: ["edit", "replace", "edit_file", "str_replace"],
  run: [
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "execute_command",
    "run_command",
  ],
};

/** The values of a call, by what a parameter may be called, in lower case and without `_`. */
const meanings: Readonly<Record<string, "path" | "from" | "to" | "command">> = {
  path: "path",
  filepath: "path",
  absolutepath: "path",
  oldstring: "from",
  oldtext: "from",
  newstring: "to",
  newtext: "to",
  command: "command",
  cmd: "command",
};

/** The call of one of these tools that does it; by a shell if there is no other. Undefined if there is none at all. */
export function chooseTool(tools: readonly Tool[], wanted: Wanted): ToolCall | undefined {
  const tool = findTool(tools, wanted.act);
  if (tool !== undefined) return { name: tool.name, args: argumentsOf(tool, wanted) };
  const shell = findTool(tools, "run");
  if (shell === undefined) return undefined;
  return { name: shell.name, args: argumentsOf(shell, { act: "run", command: asCommand(wanted) }) };
}

function findTool(tools: readonly Tool[], act: Wanted["act"]): Tool | undefined {
  for (const name of names[act]) {
    const found = tools.find((tool) => tool.name.toLowerCase() === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function argumentsOf({ properties, required }: Tool, wanted: Wanted): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(properties)) {
    const meaning = meanings[key.toLowerCase().replaceAll("_", "")];
    const value = meaning === undefined ? undefined : (wanted as Record<string, unknown>)[meaning];
    if (value !== undefined) args[key] = schema["type"] === "array" ? ["sh", "-c", value] : value;
    else if (required.includes(key)) args[key] = fillerFor(schema);
  }
  return args;
}

/** For what a tool insists on and nobody reads, such as why it is called. */
function fillerFor({ type, enum: values }: JsonRecord): unknown {
  if (Array.isArray(values)) return values[0];
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return 1;
  if (type === "array") return [];
  return type === "object" ? {} : "As the task asks.";
}

function asCommand(wanted: Wanted): string {
  switch (wanted.act) {
    case "read":
      return `cat '${wanted.path}'`;
    case "edit":
      return `sed -i 's/${wanted.from}/${wanted.to}/' '${wanted.path}'`;
    case "run":
      return wanted.command;
  }
}
