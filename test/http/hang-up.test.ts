import { beforeAll, expect, test } from "vitest";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { freshName, registerWorker } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";
import { examples } from "./route-examples.ts";
import { routeNames, send } from "./send-example.ts";

const hub = memoryHubForAll();
const world = { hub, tokens: tokensOf(hub) };

/** Those that may take long, and so must know when their caller has gone. */
const waiting = [
  ...["streamEvents", "streamCommands", "readOutput", "searchAudit"],
  ...["claimJob", "claimJobs", "pendingJob"],
];
/** Which calls have begun to listen for that. */
const listening: string[] = [];

beforeAll(() => {
  hub.onRequest(({ url }, outgoing) => {
    outgoing.on("newListener", (event: string) => event === "close" && listening.push(url!));
  });
});

test("B17: a call listens for the client to hang up only if it waits", async () => {
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

test.each(routeNames.filter((name) => !waiting.includes(name)))(
  "B17: %s does not listen for the client to hang up",
  async (name) => {
    const example = await examples[name](world);
    listening.length = 0;
    expect((await send(hub, name, example)).status).toBeLessThan(400);
    expect(listening).toEqual([]);
  },
);

test("a command stream whose worker hung up before it was open takes nothing from the worker's other stream", async () => {
  const workerId = await registerWorker(hub);
  const path = `/workers/${workerId}/commands`;
  const stream = await openEventStream(hub, path, { token: hub.admin });
  await stream.until("the first hint", ({ event }) => event === "work");
  let hungUp = 0;
  hub.onRequest(({ headers }, outgoing) => {
    if (headers["x-test"] === "hangs up") outgoing.destroy(new Error(`hung up ${++hungUp}`));
  });
  const left = openEventStream(hub, path, { token: hub.admin, headers: { "x-test": "hangs up" } });
  await expect(left).rejects.toThrow();
  expect(hungUp).toBe(1);
  await eventually("the call is over", async () => (await commandStreamsCounted()) === 2);
  await hub.must("POST", `/workers/${workerId}/drain`, { token: hub.admin });
  await stream.until("the order to drain", ({ event }) => event === "drain");
  stream.cut();

  async function commandStreamsCounted(): Promise<number> {
    const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
    const route = 'route="/workers/:id/commands"';
    return Number(new RegExp(`^writ_http_requests_total\\{.*${route}.*\\} (\\d+)$`, "m").exec(text)?.[1]);
  }
});

async function waitingWorkers(): Promise<number> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  return Number(/^writ_waiting_workers (\d+)$/m.exec(text)?.[1]);
}
