import { readdirSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { forgeDocuments } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";

const hub = new HubProcess({ WRIT_BACKOFF_SCALE: "0", WRIT_LOG_LEVEL: "warn" });
let writ: Writ;
let worker: WorkerProcess;
let made = 0;

beforeAll(async () => {
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
});
afterAll(async () => {
  writ.close();
  await hub.remove();
});
beforeEach(async () => {
  worker = new WorkerProcess(hub, `locked-${++made}`, { JOB_POLL_INTERVAL_MS: "200" });
  await worker.enrol();
  worker.start();
});
afterEach(() => worker.remove());

/** A job that does not end by itself, with words by which its process is found on the host. */
async function endlessJob(): Promise<{ id: string; words: string }> {
  const words = `600.${process.pid}${++made}`;
  const argv = ["sh", "-c", `echo begun; exec sleep ${words}`];
  const { id } = await writ.submit({ type: "endless", run: { kind: "exec", argv } });
  await eventually("the job runs", async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of writ.streamOutput(id, { follow: false })) chunks.push(chunk);
    return Buffer.concat(chunks).toString().trim() || null;
  });
  return { id, words };
}

async function finish(type: string): Promise<string> {
  const { id } = await writ.submit({ type, run: { kind: "exec", argv: ["true"] } });
  return (await writ.wait(id)).status;
}

test("a lockdown kills what runs on a real worker and charges nothing; lifted, the worker goes on", async () => {
  const { id, words } = await endlessJob();
  await writ.lockDown("a drill");
  await eventually("its process is gone", () => !isRunning(words));
  expect(await writ.get(id)).toMatchObject({ status: "pending", attempts: 0, worker_id: null });
  await writ.cancel(id);
  await writ.liftLockdown();
  expect(await finish("after")).toBe("completed");
});

test("one that the hub decides brings new keys, and the worker runs jobs under them once it is lifted", async () => {
  const { id, words } = await endlessJob();
  const [before] = (await writ.keys()).filter(({ status }) => status === "active");
  const requires = { tags: ["nobody-has-this"] };
  const run = { kind: "exec" as const, argv: ["true"] };
  await writ.submitBatch(Array.from({ length: 10 }, () => ({ type: "forged", run, requires })));
  await forgeDocuments(hub.home);
  const call = (path: string, body: object) =>
    fetch(`${hub.url}/api/v1${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${hub.token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const forger = { worker_id: "forger", cores: 1, ram_gb: 1, tags: requires.tags, kinds: ["exec"] };
  await call("/workers/register", { ...forger, types: ["forged"] });
  await call("/jobs/claim", { worker_id: "forger" });
  await eventually("the hub has locked itself", async () => (await writ.lockdown()).locked);
  await eventually("a new key is active", async () =>
    (await writ.keys()).some(({ status, key_id }) => status === "active" && key_id !== before!.key_id),
  );
  await eventually("the process is gone", () => !isRunning(words));
  await writ.cancel(id);
  await writ.liftLockdown();
  expect(await finish("under.the.new.key")).toBe("completed");
});

/** A caged process has another number inside its cage, so it is looked for by what it was told to do. */
function isRunning(words: string): boolean {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return processes.some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(words);
    } catch {
      return false;
    }
  });
}
