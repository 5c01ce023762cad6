import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import { tokens } from "../../src/worker/agent-check/dialects/dialect.ts";
import { type AgentTrial, tryAgent, withTrialFolder } from "../../src/worker/agent-check/try-agent.ts";
import { advice, readBlock, readTable, tableLines } from "../docs/page.ts";
import { delegateSettings } from "../kinds/delegate-stage.ts";
import { obstacle, openSandbox } from "../sandbox/cage-stage.ts";
import { documentedEntry } from "./documented-entry.ts";
import { type AgentName, agentNames, type InstalledAgent, installAgent } from "./install-agent.ts";
import versions from "./versions.json" with { type: "json" };

const page = "docs/delegation.md";
const columns = [
  "agent",
  "version",
  "reads its task",
  "edits",
  "runs the tests",
  "is refused elsewhere",
  "tells its calls",
  "tells that it was refused",
  "tells its tokens",
  "tells its cost",
];
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
        const told = JSON.stringify([trial.use, trial.turns, trial.calls]);
        const details = `${told}\n${JSON.stringify(trial.outcome)}\n${trial.output}`;
        expect(said, `${advice(page, tableLines(columns, [row]))}${details}`).toEqual(row);
      });
  });
}

function tried(name: AgentName, agent: InstalledAgent): Promise<AgentTrial> {
  return withTrialFolder(async (dir) => {
    const { command, stdin, protocol, env_from_worker: envFromWorker = [] } = documentedEntry(name, agent);
    const sandbox = await openSandbox(dir, { visiblePaths: agent.visiblePaths });
    const settings = { stopGraceMs: 2000, outputBytesMax: 10_000_000, limits: {}, maxLimits: {} };
    const deps = { settings: { ...settings, handlers: {}, secrets: {} }, sandbox, ...outside };
    const capability = { provider: "OPENROUTER", model: agent.model, timeoutMs: 1000 } as const;
    const entry = { name, command, stdin, protocol, envFromWorker };
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

function rowOf(
  name: AgentName,
  { readsTask, edits, runsTests, isRefused, use, calls, turns }: AgentTrial,
): string[] {
  // The model was asked once more than it called a tool: the last turn is its end.
  const tellsAll = use?.tool_calls === turns - 1 && calls.every(({ status }) => status !== "running");
  const tellsRefusal = use?.denied === 1 && calls.some(({ status }) => status === "refused");
  const tellsTokens = use?.tokens_in === turns * tokens.input && use.tokens_out === turns * tokens.output;
  const tellsCost = (use?.cost_micro_usd ?? 0) > 0;
  const did = [readsTask, edits, runsTests, isRefused, tellsAll, tellsRefusal, tellsTokens, tellsCost];
  const held = did.map((is) => (is ? "yes" : "no"));
  return [name, versions[name].version, ...held];
}
