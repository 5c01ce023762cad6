import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import { type AgentTrial, tryAgent, withTrialFolder } from "../../src/worker/agent-check/try-agent.ts";
import { advice, readBlock, readTable, tableLines } from "../docs/page.ts";
import { delegateSettings } from "../kinds/delegate-stage.ts";
import { obstacle, openSandbox } from "../sandbox/cage-stage.ts";
import { documentedEntry } from "./documented-entry.ts";
import { type AgentName, agentNames, type InstalledAgent, installAgent } from "./install-agent.ts";
import versions from "./versions.json" with { type: "json" };

const page = "docs/delegation.md";
const columns = ["agent", "version", "reads its task", "edits", "runs the tests", "is refused elsewhere"];
const trialMs = 120_000;

/** Before a test becomes an ordinary user: the folder of the programs is root's. */
export function installAgents(): Map<AgentName, InstalledAgent> {
  return new Map(agentNames.map((name) => [name, installAgent(name)]));
}

/**
 * Each real agent in the cage, with the entry of docs/delegation.md, and what the page says that it does.
 * Why: ADR 0103.
 */
export function describeAgents(who: string, agents: ReadonlyMap<AgentName, InstalledAgent>): void {
  const capable = obstacle === null ? test : test.skip;
  const note = obstacle === null ? "" : ` (not capable: ${obstacle})`;
  describe(`as ${who}`, () => {
    for (const [name, agent] of agents)
      capable(`${name} does in the cage what ${page} says${note}`, async () => {
        const trial = await tried(name, agent);
        const row = rowOf(name, trial);
        const said = readTable(readBlock(page, "agents tried")).find(([first]) => first === name);
        const details = `${JSON.stringify(trial.outcome)}\n${trial.output}`;
        expect(said, `${advice(page, tableLines(columns, [row]))}${details}`).toEqual(row);
      });
  });
}

function tried(name: AgentName, agent: InstalledAgent): Promise<AgentTrial> {
  return withTrialFolder(async (dir) => {
    const { command, stdin, env_from_worker: envFromWorker = [] } = documentedEntry(name, agent);
    const sandbox = await openSandbox(dir, { visiblePaths: agent.visiblePaths });
    const settings = { stopGraceMs: 2000, outputBytesMax: 10_000_000, limits: {}, maxLimits: {} };
    const deps = { settings: { ...settings, handlers: {}, secrets: {} }, sandbox, ...outside };
    const capability = { provider: "OPENROUTER", model: agent.model, timeoutMs: 1000 } as const;
    const entry = { name, command, stdin, envFromWorker };
    try {
      return await tryAgent({
        deps,
        delegate: delegateSettings({}),
        entry,
        capability,
        dir,
        timeoutMs: trialMs,
      });
    } finally {
      await sandbox.close();
    }
  });
}

const outside = { clock: systemClock, logger: silentLogger };

function rowOf(name: AgentName, { readsTask, edits, runsTests, isRefused }: AgentTrial): string[] {
  const held = [readsTask, edits, runsTests, isRefused].map((is) => (is ? "yes" : "no"));
  return [name, versions[name].version, ...held];
}
