import type { JsonRecord, Tool } from "./dialects/dialect.ts";

/** An act that a model requests. Paths are absolute. */
export type ModelAct =
  | { act: "read"; path: string }
  | { act: "edit"; path: string; from: string; to: string }
  | { act: "run"; command: string };

type ToolCall = { name: string; args: Record<string, unknown> };

/** The names of tools for each act in known programs, in lower case. */
const names: Readonly<Record<ModelAct["act"], readonly string[]>> = {
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

/** The meaning of a parameter by its name, in lower case and without `_`. */
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

/** The call of one of these tools for an act; a shell is used if no other fits. Undefined without a usable tool. */
export function chooseTool(tools: readonly Tool[], act: ModelAct): ToolCall | undefined {
  const tool = findTool(tools, act.act);
  if (tool !== undefined) return { name: tool.name, args: argumentsOf(tool, act) };
  const shell = findTool(tools, "run");
  if (shell === undefined) return undefined;
  return { name: shell.name, args: argumentsOf(shell, { act: "run", command: asCommand(act) }) };
}

function findTool(tools: readonly Tool[], act: ModelAct["act"]): Tool | undefined {
  for (const name of names[act]) {
    const found = tools.find((tool) => tool.name.toLowerCase() === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function argumentsOf({ properties, required }: Tool, act: ModelAct): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(properties)) {
    const meaning = meanings[key.toLowerCase().replaceAll("_", "")];
    const value = meaning === undefined ? undefined : (act as Record<string, unknown>)[meaning];
    if (value !== undefined) args[key] = schema["type"] === "array" ? ["sh", "-c", value] : value;
    else if (required.includes(key)) args[key] = fillerFor(schema);
  }
  return args;
}

/** A value for a required parameter that does not matter, for example the reason of the call. */
function fillerFor({ type, enum: values }: JsonRecord): unknown {
  if (Array.isArray(values)) return values[0];
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return 1;
  if (type === "array") return [];
  return type === "object" ? {} : "As the task asks.";
}

function asCommand(act: ModelAct): string {
  switch (act.act) {
    case "read":
      return `cat '${act.path}'`;
    case "edit":
      return `sed -i 's/${act.from}/${act.to}/' '${act.path}'`;
    case "run":
      return act.command;
  }
}
