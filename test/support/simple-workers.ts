import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "./eventually.ts";
import { HubProcess } from "./hub-process.ts";

const examples = join(import.meta.dirname, "../../examples");
const canPython = spawnSync("python3", ["-c", "import json, urllib.request"]).status === 0;
const leaseSec = 6;

/** What a job asks for in its params. A long job outlives its lease twice, unless it is renewed. */
const command = `params=$(cat)
case $params in
  *fail*) echo "as the test wishes" >&2; exit 3 ;;
  *words*) echo "no JSON" ;;
  *forever*) exec sleep 3600 ;;
  *long*) sleep ${2 * leaseSec}; echo '{"type":"'"$1"'"}' ;;
  *) printf '{"echo":%s}' "$params" ;;
esac
`;

/**
 * The two workers of `examples/`, which know nothing but the API page, against a hub that is killed and started again:
 * nothing is lost, a failure is a failure, and a cancelled job is stopped. `isOver` says after each round whether to end.
 */
export function describeSimpleWorkers(isOver: () => boolean): void {
  const programs = [
    { name: "shell", words: ["sh", join(examples, "simple-worker.sh")] },
    ...(canPython ? [{ name: "python", words: ["python3", join(examples, "simple_worker.py")] }] : []),
  ];

  describe("O-13: workers that speak only the simple protocol", () => {
    const hub = new HubProcess({
      WRIT_LEASE_MS: String(leaseSec * 1000),
      WRIT_WORKER_INACTIVE_MS: String(leaseSec * 1000 + 1000),
      WRIT_REAPER_INTERVAL_MS: "200",
      WRIT_BACKOFF_SCALE: "0",
      WRIT_LOG_LEVEL: "warn",
    });
    const dir = mkdtempSync(join(tmpdir(), "writ-simple-"));
    const workers: ChildProcess[] = [];
    /** What each has written to stderr. */
    const printed = new Map<string, string>();

    beforeAll(async () => {
      writeFileSync(join(dir, "work.sh"), command);
      await hub.start();
    });
    afterAll(async () => {
      for (const worker of workers) worker.kill();
      await Promise.all(
        workers.map((worker) => worker.exitCode ?? worker.signalCode ?? once(worker, "exit")),
      );
      await hub.remove();
      rmSync(dir, { recursive: true, force: true });
    });

    /** A worker of a tenant of its own, so that the other one does not take its jobs. */
    async function startProgram({ name, words }: (typeof programs)[number]) {
      const admin = new Writ({ url: hub.url, token: hub.token });
      const token = async (role: "user" | "worker") =>
        (await admin.createToken({ role, tenantId: name, userId: name })).token;
      const env = { PATH: process.env["PATH"], WRIT_HUB_URL: hub.url, BEAT_SEC: "1" };
      const [program = "", ...args] = [...words, "sh", join(dir, "work.sh")];
      const options = { env: { ...env, WRIT_TOKEN: await token("worker") } };
      const worker = spawn(program, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
      workers.push(worker);
      worker.stderr.setEncoding("utf8").on("data", (piece: string) => {
        printed.set(name, (printed.get(name) ?? "") + piece);
      });
      const user = new Writ({ url: hub.url, token: await token("user"), retryMs: 60_000 });
      admin.close();
      return user;
    }

    async function stopForeverJob(writ: Writ): Promise<void> {
      const { id } = await writ.submit({ type: "forever", params: "forever" });
      await eventually("the job runs", async () => (await writ.get(id)).status === "running");
      await writ.cancel(id);
      const job = await eventually("the job is over", async () => {
        const seen = await writ.get(id);
        return seen.status === "failed" && seen;
      });
      expect(job).toMatchObject({ fail_code: "CANCELLED", attempt: 1 });
    }

    async function submitRound(writ: Writ) {
      const submit = async (job: { type: string; params: unknown; max_attempts?: number }) =>
        (await writ.submit(job)).id;
      return {
        long: await submit({ type: "long", params: "long" }),
        quick: await submit({ type: "quick", params: { text: 'a "quoted" ,"priority": text', list: [1] } }),
        failing: await submit({ type: "failing", params: "fail", max_attempts: 1 }),
        words: await submit({ type: "words", params: "words", max_attempts: 1 }),
      };
    }

    async function checkRound(writ: Writ, ids: Awaited<ReturnType<typeof submitRound>>): Promise<void> {
      const ended = async (id: string) =>
        eventually("the job is over", async () => {
          const job = await writ.get(id);
          return ["completed", "failed", "quarantined"].includes(job.status) && job;
        });
      expect(await ended(ids.long)).toMatchObject({ status: "completed", result: { type: "long" } });
      expect(await ended(ids.quick)).toMatchObject({
        status: "completed",
        result: { echo: { text: 'a "quoted" ,"priority": text', list: [1] } },
      });
      expect(await ended(ids.failing)).toMatchObject({ status: "failed", fail_code: "EXECUTION_ERROR" });
      const { status, fail_history } = await ended(ids.words);
      expect([status, fail_history.at(-1)?.reason]).toEqual(["failed", expect.stringContaining("JSON")]);
      expect([...printed.values()].filter((text) => text.includes(ids.words))).toHaveLength(1);
    }

    test("each is a page long", () => {
      const lines = readFileSync(join(examples, "simple-worker.sh"), "utf8").trimEnd().split("\n");
      expect(lines.length).toBeLessThanOrEqual(40);
    });

    test("they run, renew, fail and cancel jobs, and come through a restart of the hub", async () => {
      const users = await Promise.all(programs.map(startProgram));
      do {
        await Promise.all(users.map(stopForeverJob));
        const rounds = await Promise.all(users.map(submitRound));
        await Promise.all(
          users.map((writ, index) =>
            eventually(
              "the long job runs",
              async () => (await writ.get(rounds[index]!.long)).status === "running",
            ),
          ),
        );
        await hub.kill();
        await hub.start();
        await Promise.all(users.map((writ, index) => checkRound(writ, rounds[index]!)));
      } while (!isOver());
      for (const writ of users) writ.close();
    });
  });
}
