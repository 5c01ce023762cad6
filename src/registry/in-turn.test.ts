import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { handClock } from "../runtime/clock/hand-clock.testing.ts";
import { tryLockFile } from "../runtime/files/file-lock.ts";
import { list, pick, publish, type RegistryPlace, readLog, register, setStatus } from "./index.ts";

const agentSession = "s";
const job = { prompt: "p", agent: "a", agentSession, broker: "mqtt://127.0.0.1:1" };

function emptyPlace(): Required<Pick<RegistryPlace, "cwd">> {
  const cwd = mkdtempSync(join(tmpdir(), "writ-registry-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return { cwd };
}

const acts: [string, (place: RegistryPlace, id: string) => Promise<unknown>][] = [
  ["register", (place) => register(place, job)],
  ["pick", (place) => pick(place, { agentSession })],
  ["setStatus", (place, id) => setStatus(place, id, "running")],
  ["publish", (place, id) => publish(place, id, { event: "begin", status: "running" })],
];

test.each(acts)("O-19: %s waits for its turn, and is recorded with the time of its turn", async (_, act) => {
  const clock = handClock();
  const place = { ...emptyPlace(), clock };
  const { job_id: first } = await register(place, job);
  const before = await list(place);
  const lock = tryLockFile(join(place.cwd, ".writ/jobs/history.lock"))!;
  const acting = act(place, first);
  await clock.pass(1_000);
  expect(await list(place)).toEqual(before);
  lock.release();
  await acting;
  const { job_id: last } = (await list(place)).at(-1)!;
  expect((await readLog(place, last)).at(-1)!.ts).toBe("1970-01-01T00:00:01.000Z");
});

test.each(acts)("O-19: %s is in the history before anybody else has a turn", async (_, act) => {
  const { cwd } = emptyPlace();
  const { job_id: id } = await register({ cwd }, job);
  const wasHeld: boolean[] = [];
  const place: RegistryPlace = {
    cwd,
    // Asked for when the history is written.
    get logsDir() {
      const lock = tryLockFile(join(cwd, ".writ/jobs/history.lock"));
      lock?.release();
      wasHeld.push(lock === null);
      return undefined;
    },
  };
  await act(place, id);
  expect(wasHeld).toEqual([true]);
});

test("O-19: the history has simultaneous changes in the order in which they happened", async () => {
  const place = emptyPlace();
  const { job_id: id } = await register(place, job);
  const wanted = ["running", "pending", "running", "pending", "running", "pending", "running", "pending"];
  await Promise.all(wanted.map((status) => setStatus(place, id, status)));
  const lines = await readLog(place, id);
  const changes = lines.slice(1);
  expect(changes.map(({ from }) => from)).toEqual(["pending", ...changes.slice(0, -1).map(({ to }) => to)]);
  expect(lines.map(({ ts }) => ts)).toEqual(lines.map(({ ts }) => ts).toSorted());
  const [{ status, updated_at } = {}] = await list(place);
  const file = readFileSync(join(place.cwd, ".writ/job_logs", id, "status.json"), "utf8");
  expect(JSON.parse(file)).toEqual({ status, updated_at });
});
