import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { editRecord } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";

const hub = new HubProcess({ WRIT_LOG_LEVEL: "warn" });
beforeAll(() => hub.start());
afterAll(() => hub.remove());

type Outcome = { code: number; stdout: string; stderr: string };

function run(program: "writ" | "jobctl", ...args: string[]): Promise<Outcome> {
  const path = join(import.meta.dirname, "../../bin", program);
  return new Promise((resolve) => {
    execFile(path, ["--home", hub.home, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

test("C7: jobctl audit shows what happened under one header, filtered, and as JSON", async () => {
  expect(await run("jobctl", "submit", "cli", "--exec", "--", "true")).toMatchObject({ code: 0 });
  const shown = await eventually("the record is sealed", async () => {
    const outcome = await run("jobctl", "audit", "--event", "JOB_CREATED", "--since", "1h");
    return outcome.stdout !== "" && outcome;
  });
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout).toMatch(
    /^TIME +SEQ +LEVEL +EVENT +TENANT +USER +ADDRESS +JOB +DETAILS\n\S+Z +\d+ +LOW +JOB_CREATED +default +\S+ +127\.0\.0\.1 /,
  );
  const json = await run("jobctl", "audit", "--event", "JOB_CREATED", "--json");
  expect(JSON.parse(json.stdout.split("\n")[0]!)).toMatchObject({
    ...{ event: "JOB_CREATED", severity: "LOW", ip_address: "127.0.0.1" },
  });
  expect((await run("jobctl", "audit", "--severity", "CRITICAL")).stdout).toBe("");
  expect(await run("jobctl", "audit", "--event", "NO_SUCH")).toMatchObject({ code: 2 });
  expect(await run("jobctl", "audit", "--since", "yesterday-ish")).toMatchObject({ code: 2 });
});

test("C7: writ doctor is aligned, counts what it found, and says why the hub is locked", async () => {
  const healthy = await run("writ", "doctor");
  expect(healthy.stdout).toMatch(/warning +alerts +no channel is configured for alerts/);
  const lines = healthy.stdout.trimEnd().split("\n");
  expect(lines.at(-1)).toMatch(/^\d+ checks: \d+ ok, \d+ warnings?, 0 problems$/);
  const starts = lines
    .slice(0, -2)
    .map((line) => /^(?:ok|warning|problem) +\S+(?: \S+)* {2,}/.exec(line)?.[0].length);
  expect(new Set(starts).size).toBe(1);
  const locked = await run("writ", "lockdown", "--reason", "a drill");
  expect(locked.stdout).toMatch(/^locked since \S+Z by \S+: a drill\n$/);
  const doctor = await run("writ", "doctor");
  expect(doctor).toMatchObject({ code: 1 });
  expect(doctor.stdout).toMatch(/problem +lockdown +the hub is locked: a drill/);
  expect((await run("writ", "lockdown", "--lift")).stdout).toBe("not locked\n");
});

test("writ audit verify works beside the hub and without it, and exits 1 when it finds something", async () => {
  expect(await run("writ", "audit", "verify")).toMatchObject({ code: 0 });
  await hub.kill("SIGTERM");
  const whole = await run("writ", "audit", "verify");
  expect(whole).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^the audit trail is intact: \d+ records/),
  });

  await editRecord(hub.home, 3);
  const broken = await run("writ", "audit", "verify");
  expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining("record 3: was changed") });
  const json = JSON.parse((await run("writ", "audit", "verify", "--json")).stdout);
  expect(json).toMatchObject({ ok: false, faults: [{ seq: 3, what: "was changed after it was sealed" }] });
});

test("after a kill -9 the trail is whole, and the next start seals the rest", async () => {
  const fresh = new HubProcess({ WRIT_LOG_LEVEL: "warn" });
  try {
    await fresh.start();
    await fresh.kill("SIGKILL");
    const verify = () =>
      new Promise<Outcome>((resolve) => {
        const path = join(import.meta.dirname, "../../bin/writ");
        execFile(path, ["audit", "verify", "--json", "--home", fresh.home], (error, stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
        );
      });
    expect(await verify()).toMatchObject({ code: 0 });
    await fresh.start();
    await fresh.kill("SIGTERM");
    const after = await verify();
    expect(after.code).toBe(0);
    expect(JSON.parse(after.stdout)).toMatchObject({ unsealed: 0, faults: [] });
  } finally {
    await fresh.remove();
  }
});
