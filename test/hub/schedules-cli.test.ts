import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);
const folder = mkdtempSync(join(tmpdir(), "writ-schedules-"));
afterAll(() => rmSync(folder, { recursive: true }));

const jobctl = (...args: string[]): Promise<CliRun> =>
  runCli("jobctl", ["schedules", ...args], { env: { WRIT_HOME: hub.home } });
const apply = (text: string, ...flags: string[]): Promise<CliRun> => {
  const file = join(folder, "schedules.yaml");
  writeFileSync(file, text);
  return runCli("writ", ["schedules", "apply", file, ...flags], { env: { WRIT_HOME: hub.home } });
};

test("put refuses a schedule without a command, and shows what the hub says of a wrong expression", async () => {
  expect(await jobctl("put", "a", "--every", "1m")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no command given; write it after --"),
  });
  expect(await jobctl("put", "a", "--cron", "0 25 * * *", "--", "true")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('hour: "25" is not allowed; use 0 to 23'),
  });
  expect(await jobctl("show", "none")).toMatchObject({ code: 4 });
});

test("a schedule is put, listed, shown, run, paused, filled back and removed", async () => {
  const name = freshName("cli");
  const put = await jobctl(
    "put",
    name,
    "--cron",
    "30 2 * * *",
    "--time-zone",
    "Europe/Berlin",
    "--",
    "echo",
    "-n",
    "hi",
  );
  expect(put).toMatchObject({ code: 0, stderr: "" });
  expect(put.stdout).toContain("when:      30 2 * * * Europe/Berlin");
  expect((await jobctl()).stdout).toMatch(new RegExp(`${name} +30 2 \\* \\* \\* Europe/Berlin +active`));
  const id = (await jobctl("run", name)).stdout.trim();
  const job = await hub.must("GET", `/jobs/${id}`, { token: hub.admin });
  expect(job.json()).toMatchObject({ type: "exec", run: { argv: ["echo", "-n", "hi"] } });
  expect((await jobctl("show", name)).stdout).toContain(id);
  expect((await jobctl("pause", name)).stdout).toBe(`${name} is paused\n`);
  expect((await jobctl("resume", name)).stdout).toBe(`${name} is active\n`);
  expect((await jobctl("backfill", name, "--from", "3d")).stdout).toBe("3 occurrences wait for their jobs\n");
  expect((await jobctl("remove", name)).code).toBe(0);
  expect((await jobctl("show", name)).code).toBe(4);
});

test("apply shows what would change, keeps what is not in the file, and removes it with --prune", async () => {
  const kept = freshName("kept");
  await jobctl("put", kept, "--every", "1h", "--", "true");
  const file = 'schedules:\n  report: {cron: "0 3 * * *", job: {type: report, params: {a: 1}}}\n';
  expect(await apply("others: {}\n")).toMatchObject({ code: 2, stderr: expect.stringContaining("others") });
  const first = await apply(file, "--yes");
  expect(first.stdout).toContain("+ report\n");
  expect(first.stdout).toContain(`${kept} is not in the file, and is kept; --prune removes it`);
  expect((await apply(file)).stdout).toContain("= report\n");
  const changed = await apply(file.replace("0 3", "0 4"), "--prune", "--yes");
  expect(changed.stdout).toContain("~ report: cron\n");
  expect(changed.stdout).toContain(`- ${kept}\n`);
  expect((await jobctl("show", kept)).code).toBe(4);
  const asked = await apply(file);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining("There is no terminal to ask at")]);
});

test("the clock of a hub that runs makes jobs, which know their time", async () => {
  const writ = new Writ({ url: hub.url, token: hub.admin });
  const name = freshName("sdk");
  const { next } = await writ.schedules.put(name, {
    every_sec: 1,
    max_runs: 2,
    overlap: "allow",
    job: { type: "tick", run: { kind: "exec", argv: ["true"] } },
  });
  const schedule = await eventually("two jobs are made, and no more", async () => {
    const found = await writ.schedules.get(name);
    return found.state === "ended" ? found : false;
  });
  expect(schedule).toMatchObject({ runs: 2, next: [] });
  expect(schedule.past).toHaveLength(2);
  const [last] = schedule.past!;
  expect(last!.at).toBeGreaterThanOrEqual(next[1]!);
  const job = await writ.get(last!.job_id!);
  expect(job.metadata).toMatchObject({ schedule: { name, scheduled_for: new Date(last!.at).toISOString() } });
  writ.close();
});
