import { beforeAll, expect, test } from "vitest";
import { type AgentName, agentNames, type InstalledAgent, installAgent } from "../agents/install-agent.ts";
import { driveByAgent } from "../agents/mcp-clients.ts";
import { hubForAll, startedForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";

const hub = hubForAll();
startedForAll(() => startTestWorker(hub));
const agents = new Map<AgentName, InstalledAgent>();
beforeAll(() => {
  for (const name of agentNames) agents.set(name, installAgent(name));
}, 1_200_000);

/** Real coding agents with the settings that `writ skills install` writes, and a model that thinks nothing. */
test.each(agentNames)("%s submits, waits, reads the end of a long log and cancels by MCP", async (name) => {
  await driveByAgent(hub, name, agents.get(name)!);
  expect.hasAssertions();
});
