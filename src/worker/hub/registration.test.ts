import { expect, test } from "vitest";
import type { AgentEntry } from "../../runners/delegate/delegate-settings.ts";
import type { WorkerSettings } from "../settings.ts";
import { kindsWithoutCage, registrationOf } from "./registration.ts";

const chat: AgentEntry = { name: "chat", builtin: "chat", envFromWorker: [] };
const scribe: AgentEntry = { name: "scribe", command: ["true"], envFromWorker: [] };

function kindsOf(agents: readonly AgentEntry[] | undefined, functionTypes: readonly string[] = []): string[] {
  const delegate = agents && ({ agents } as WorkerSettings["delegate"]);
  return kindsWithoutCage({ delegate }, functionTypes);
}

test("a worker without a cage runs functions, and the built-in agent if it has no other", () => {
  expect(kindsOf(undefined)).toEqual([]);
  expect(kindsOf([])).toEqual([]);
  expect(kindsOf([scribe, chat])).toEqual([]);
  expect(kindsOf([chat])).toEqual(["delegate"]);
  expect(kindsOf([chat], ["t"])).toEqual(["handler", "delegate"]);
  expect(kindsOf([scribe], ["t"])).toEqual(["handler"]);
});

test("the reason why no process can be caged is registered without the path of a job", () => {
  const settings = { handlers: {}, capabilities: [], sessions: [], workDir: "/srv/w/work" } as unknown;
  const facts = { functionTypes: [], kinds: ["exec"], sandbox: { level: "strict" } } as unknown;
  const problem =
    "SANDBOX_UNAVAILABLE: home: ENOSPC: filling /srv/w/work/jobs/01a1eddf-24ae-73d9-9c89-4119a31a43d5/2";
  const { sandbox_problem } = registrationOf(
    settings as WorkerSettings,
    facts as Parameters<typeof registrationOf>[1],
    problem,
  );
  expect(sandbox_problem).toBe("SANDBOX_UNAVAILABLE: home: ENOSPC: filling WRIT_WORK_DIR");
});
