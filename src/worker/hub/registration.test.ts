import { expect, test } from "vitest";
import type { AgentEntry } from "../../runners/delegate/delegate-settings.ts";
import type { WorkerSettings } from "../settings.ts";
import { kindsWithoutCage } from "./registration.ts";

const chat: AgentEntry = { name: "chat", builtin: "chat", envFromWorker: [] };
const scribe: AgentEntry = { name: "scribe", command: ["true"], envFromWorker: [] };

function kindsOf(agents: readonly AgentEntry[] | undefined, functionTypes: readonly string[] = []): string[] {
  const delegate = agents && ({ agents } as WorkerSettings["delegate"]);
  return kindsWithoutCage({ delegate }, functionTypes);
}

test("a worker that can cage nothing runs functions, and the built-in agent if it has no other", () => {
  expect(kindsOf(undefined)).toEqual([]);
  expect(kindsOf([])).toEqual([]);
  expect(kindsOf([scribe, chat])).toEqual([]);
  expect(kindsOf([chat])).toEqual(["delegate"]);
  expect(kindsOf([chat], ["t"])).toEqual(["handler", "delegate"]);
  expect(kindsOf([scribe], ["t"])).toEqual(["handler"]);
});
