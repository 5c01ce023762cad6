import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freshName, registerWorker } from "../support/jobs.ts";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll();

test("a call listens for the client to hang up only if it waits", async () => {
  const listening: string[] = [];
  hub.onRequest(({ url }, outgoing) => {
    outgoing.on("newListener", (event: string) => event === "close" && listening.push(url!));
  });
  await hub.must("GET", "/session", { token: hub.admin });
  expect(listening).toEqual([]);

  const body = { worker_id: await registerWorker(hub), types: [freshName("none")], wait_ms: 60_000 };
  const hangUp = new AbortController();
  const claim = hub.call("POST", "/jobs/claim", { token: hub.admin, body, signal: hangUp.signal });
  await eventually("the claim waits", async () => (await waitingWorkers()) === 1);
  expect(listening).toContain("/api/v1/jobs/claim");
  hangUp.abort();
  await expect(claim).rejects.toThrow("aborted");
  await eventually("the claim has ended", async () => (await waitingWorkers()) === 0);
});

async function waitingWorkers(): Promise<number> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  return Number(/^writ_waiting_workers (\d+)$/m.exec(text)?.[1]);
}
