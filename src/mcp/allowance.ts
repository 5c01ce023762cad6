/** What a server of tools may be allowed beside reading. Why: ADR 0119. */
const mcpActs = ["run", "delegate", "cancel"] as const;
export type McpAct = (typeof mcpActs)[number];

/** What is allowed beside reading, which always is. */
export type Allowance = ReadonlySet<McpAct>;

export const allowanceHelp = `${mcpActs.join(", ")}, or several of them separated by commas`;

/** A list such as `run,cancel`; undefined if it names anything else. */
export function parseAllowance(text: string): Allowance | undefined {
  const names = text.split(",").map((name) => name.trim());
  return names.every(isAct) ? new Set(names) : undefined;
}

function isAct(name: string): name is McpAct {
  return (mcpActs as readonly string[]).includes(name);
}
