import { parse } from "yaml";
import type { AgentsFile } from "../../src/worker/agents-file/agents-shape.ts";
import { readBlock } from "../docs/page.ts";
import type { AgentName, InstalledAgent } from "./install-agent.ts";

type Entry = NonNullable<NonNullable<AgentsFile["execution"]>["agents"]>[number];

/** The entry for an agent as docs/delegation.md has it, with the path of the program that is installed here. */
export function documentedEntry(name: AgentName, { command }: InstalledAgent): Entry {
  const yaml = /```yaml\n([\s\S]*?)```/.exec(readBlock("docs/delegation.md", "entries"))![1]!;
  const entries: Entry[] = parse(yaml).execution.agents;
  const entry = entries.find((found) => found.name === name)!;
  return { ...entry, command: [...command, ...entry.command!.slice(1)] };
}
