import { expect, test } from "vitest";
import { type ChosenAgent, chooseAgent } from "./choose-agent.ts";
import type { AgentEntry } from "./delegate-settings.ts";

const agent = (name: string, more: Partial<AgentEntry> = {}): AgentEntry => ({
  name,
  command: [name],
  envFromWorker: [],
  ...more,
});

const settings: Parameters<typeof chooseAgent>[0] = {
  agents: [agent("first"), agent("second", { session: "tmux:two" })],
  capabilities: [{ provider: "OLLAMA", model: "small", timeoutMs: 1000 }],
  allowedPathPrefixes: [],
  forbiddenPaths: [],
  maxFileBytes: 1,
  maxTotalBytes: 1,
  workerEnv: {},
  level: "best-effort",
};

const small = { provider: "OLLAMA", model: "small" } as const;
const nameOf = ({ entry }: ChosenAgent): string => entry.name;

test("a model or an agent that the worker does not have is an invalid job", () => {
  expect(() => chooseAgent(settings, { provider: "OPENROUTER", model: "small" }, "first")).toThrow(
    "this worker has no model OPENROUTER small",
  );
  expect(() => chooseAgent(settings, small, "third")).toThrow(
    'this worker has no agent "third"; it has: first, second',
  );
  expect(() => chooseAgent({ ...settings, agents: [] }, small, "default")).toThrow("it has: none");
});

test("an agent is found by its name; default is the first, or the one of the job's session", () => {
  expect(nameOf(chooseAgent(settings, small, "second"))).toBe("second");
  expect(nameOf(chooseAgent(settings, small, "default"))).toBe("first");
  expect(nameOf(chooseAgent(settings, { ...small, requires: { session: "tmux:two" } }, "default"))).toBe(
    "second",
  );
});

test("O-15 an agent outside the cage cannot run under strict; default is the first that can", () => {
  const outside = agent("roo", { command: undefined });
  const strict = { ...settings, level: "strict" as const, agents: [outside, agent("first")] };
  expect(() => chooseAgent(strict, small, "roo")).toThrow(
    "the agent roo runs outside the cage, which isolation strict does not allow",
  );
  expect(nameOf(chooseAgent(strict, small, "default"))).toBe("first");
  expect(nameOf(chooseAgent({ ...strict, level: "best-effort" }, small, "default"))).toBe("roo");
  expect(() => chooseAgent({ ...strict, agents: [outside] }, small, "default")).toThrow("the agent roo runs");
});
