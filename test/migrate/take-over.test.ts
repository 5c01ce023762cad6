import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { formatBytes } from "../../src/core/text/format-bytes.ts";
import { verifyAudit, verifySeals } from "../../src/hub/admin.ts";
import { takeOver } from "../../src/hub/migrate/take-over.ts";
import { readMacKey } from "../../src/signing/key-files.ts";
import { readFileForm } from "../../src/store/sqlite/forms/file-form.ts";
import { putIntoRows } from "../support/rows/put-into-rows.ts";
import { runCli } from "../support/run-cli.ts";
import { makeLargeHome } from "./large-home.ts";
import { folder, fullHomeOfRows, lookThrough, startIn } from "./stage.ts";

// Homes of rows become homes of frames. Why: ADR 0121.
const fileOf = (home: string): string => join(home, "writ.sqlite");

function putIntoFrames(
  home: string,
  onProgress: (progress: { phase: string; part: string }) => void = () => {},
) {
  const keysDir = join(home, "keys");
  const call = { home, path: fileOf(home), keysDir, macKey: readMacKey(keysDir) };
  return takeOver({ ...call, onProgress, onBegin() {} });
}

function copyOf(home: string): string {
  const copy = join(folder(), "home");
  cpSync(home, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

function smallDisk(size: string): string {
  const dir = folder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "writ-test", dir]);
  onTestFinished(() => void execFileSync("umount", ["-l", dir]));
  return dir;
}

function edit(home: string, ...statements: string[]): void {
  const database = new DatabaseSync(fileOf(home));
  for (const statement of statements) database.exec(statement);
  database.close();
}

describe("a file of rows that is put into frames", () => {
  let whole: string;
  /** What its hub showed before. */
  let seen: Record<string, unknown>;
  let remove = (): void => {};
  beforeAll(async () => {
    const full = await fullHomeOfRows((then) => (remove = then));
    whole = full.home;
    const before = await startIn(full);
    seen = await lookThrough(before);
    await before.stop({ keepHome: true });
    await putIntoRows(whole);
  });
  afterAll(() => remove());

  test("is left alone while another program has it open", async () => {
    const home = copyOf(whole);
    const reader = new DatabaseSync(fileOf(home), { readOnly: true });
    reader.exec("BEGIN; SELECT count(*) FROM jobs");
    onTestFinished(() => reader.close());
    await expect(putIntoFrames(home)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("another program has the database"),
    });
    expect(readFileForm(fileOf(home))).toBe("rows");
  });

  test("answers as before, whatever a hub keeps", async () => {
    const home = copyOf(whole);
    const after = await startIn({ home, sqlite: "" });
    expect(await lookThrough(after)).toEqual(seen);
    await after.stop({ keepHome: true });
    expect(readFileForm(fileOf(home))).toBe("frames");
    expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);
  });

  const ofOne = "(SELECT min(seq) FROM jobs WHERE status = 'completed')";
  test.each([
    ["its document", `UPDATE documents SET document = document || ' ' WHERE job_seq = ${ofOne}`],
    ["its seal", `UPDATE documents SET mac = zeroblob(32) WHERE job_seq = ${ofOne}`],
    ["how often it may run", `UPDATE jobs SET max_attempts = 90 WHERE seq = ${ofOne}`],
    ["whose it is", `UPDATE jobs SET user_id = 'eve' WHERE seq = ${ofOne}`],
    ["its hash", `UPDATE jobs SET document_sha256 = 'none' WHERE seq = ${ofOne}`],
    ["that it has a document", `DELETE FROM documents WHERE job_seq = ${ofOne}`],
    [
      "when it was made",
      `UPDATE documents SET mac = zeroblob(32) WHERE job_seq = ${ofOne}; UPDATE jobs SET created_at = -5 WHERE seq = ${ofOne}`,
    ],
  ])("still shows that a job was edited: %s", async (_, statement) => {
    const home = copyOf(whole);
    edit(home, statement);
    const before = await verifySeals({ home, env: {} });
    expect(before.broken).toHaveLength(1);
    expect((await putIntoFrames(home)).damaged).toEqual(before.broken);
    expect(await verifySeals({ home, env: {} })).toEqual(before);
  });

  test.each([
    ["its details", "UPDATE events SET details = json_set(details, '$.type', 'other') WHERE seq = 7", 7],
    ["spaces in its details", "UPDATE events SET details = ' ' || details WHERE seq = 7", 7],
    ["its time", "UPDATE events SET ts = -1 WHERE seq = 7", 7],
    ["where it came from", `UPDATE events SET origin = '{"userId":"eve"}' WHERE seq = 7`, 7],
    ["the severity of its seal", "UPDATE audit_seals SET severity = 'HIGH' WHERE seq = 7", 7],
    ["that it was there", "DELETE FROM events WHERE seq = 9", 9],
    [
      "that it and its seal were there",
      "DELETE FROM events WHERE seq = 9; DELETE FROM audit_seals WHERE seq = 9",
      9,
    ],
    ["that it was sealed", "DELETE FROM audit_seals WHERE seq = 8", 8],
  ])("still shows that a record was edited: %s", async (_, statement, seq) => {
    const home = copyOf(whole);
    edit(home, statement);
    await putIntoFrames(home);
    const { faults } = await verifyAudit({ home, env: {} });
    expect(faults.map((fault) => fault.seq)).toContain(seq);
  });

  test("does not seal a record that the hub has not counted", async () => {
    const home = copyOf(whole);
    edit(
      home,
      `INSERT INTO events SELECT (SELECT max(seq) + 1 FROM events), ts, event, tenant_id, job_id, owner_id, job_seq, details, origin
        FROM events WHERE seq = 7`,
    );
    const { faults: before } = await verifyAudit({ home, env: {} });
    await putIntoFrames(home);
    const { faults } = await verifyAudit({ home, env: {} });
    expect(faults.map(({ seq }) => seq)).toEqual(before.map(({ seq }) => seq));
  });

  test("seals what the hub had not sealed yet", async () => {
    const home = copyOf(whole);
    const last = (await verifyAudit({ home, env: {} })).last;
    // The head covers them, so they must get the seals that they had.
    edit(home, `DELETE FROM audit_seals WHERE seq > ${last - 3}`);
    await putIntoFrames(home);
    expect(await verifyAudit({ home, env: {} })).toMatchObject({ faults: [], unsealed: 0, last });
  });

  test("is announced with what it takes, and changes nothing before", async () => {
    const home = copyOf(whole);
    const check = await runCli("writ", ["upgrade-check", "--home", home], { env: {} });
    expect([check.code, check.stderr]).toEqual([0, ""]);
    expect(check.stdout).toMatch(
      /would put the jobs of \S+ into another form, once: \d+ rows, less than a minute/,
    );
    expect(check.stdout).toMatch(/It needs [\d.]+ \w+ of disk/);
    expect(readdirSync(home).filter((name) => /take-over|frames/.test(name))).toEqual([]);
    expect(readFileForm(fileOf(home))).toBe("rows");
  });

  test("A18: is not sampled once more after a start that was killed in the sample", async () => {
    const home = copyOf(whole);
    const holder = join(import.meta.dirname, "../support/hold-work-folder.ts");
    const child = spawn(process.execPath, [holder, home, ".take-over-", join(folder(), "none")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [left] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    child.kill("SIGKILL");
    await once(child, "exit");
    const after = await startIn({ home, sqlite: "" }, { WRIT_LOG_LEVEL: "info" });
    await after.stop({ keepHome: true });
    expect(existsSync(left)).toBe(false);
    expect(readFileForm(fileOf(home))).toBe("frames");
    const log = readFileSync(join(home, "logs", "hub.log"), "utf8");
    expect(log).toContain("rows, for a time that is not known; if this is interrupted");
    expect(log).not.toContain("a sample of it tells first");
  });

  test.skipIf(process.getuid?.() !== 0)(
    "is refused in the same way by upgrade-check and by the start, if the disk is too small",
    async () => {
      const home = smallDisk("100m");
      cpSync(whole, home, { recursive: true, preserveTimestamps: true });
      const check = await runCli("writ", ["upgrade-check", "--home", home, "--json"], { env: {} });
      expect(check.code).toBe(1);
      const { take_over } = JSON.parse(check.stdout);
      expect(take_over.free_bytes).toBeLessThan(take_over.needed_bytes);
      const said = await runCli("writ", ["upgrade-check", "--home", home], { env: {} });
      const needed = formatBytes(take_over.needed_bytes);
      expect(said.stdout).toContain(`It needs ${needed} of disk`);
      expect(said.stdout).toContain("make room first, or the start refuses");
      await expect(putIntoFrames(home)).rejects.toThrow(`and ${needed} are needed for a copy of writ.sqlite`);
      expect(readFileForm(fileOf(home))).toBe("rows");
    },
  );

  test.skipIf(process.getuid?.() !== 0)(
    "names the full disk and what is as it was, if it fills up in the middle, and continues afterwards",
    async () => {
      const home = smallDisk("200m");
      cpSync(whole, home, { recursive: true, preserveTimestamps: true });
      const filler = join(home, "filler");
      const stopped = putIntoFrames(home, ({ part }) => {
        if (part === "jobs" && !existsSync(filler))
          execFileSync("sh", ["-c", 'cat /dev/zero > "$0" 2>/dev/null || true', filler]);
      });
      await expect(stopped).rejects.toMatchObject({
        code: "STORE_UNAVAILABLE",
        message: expect.stringContaining(
          `the disk of ${home} is full; the old database is as it was: make room`,
        ),
      });
      expect(readFileForm(fileOf(home))).toBe("rows");
      rmSync(filler);
      await putIntoFrames(home);
      expect(readFileForm(fileOf(home))).toBe("frames");
    },
  );

  test("begins again if somebody has used the old file meanwhile", async () => {
    const home = copyOf(whole);
    const stopped = putIntoFrames(home, ({ part }) => {
      if (part === "jobs") throw new Error("stopped");
    });
    await expect(stopped).rejects.toThrow("stopped");
    expect(existsSync(`${fileOf(home)}.frames`)).toBe(true);
    edit(home, "UPDATE jobs SET progress = '{\"percent\":77}' WHERE status = 'running'");
    const parts = new Set<string>();
    await putIntoFrames(home, ({ phase, part }) => void (phase === "copy" && parts.add(part)));
    expect(parts.has("queues")).toBe(true);
    expect(existsSync(`${fileOf(home)}.frames`)).toBe(false);
  });
});

describe("putting rows into frames, killed", () => {
  type Line = { phase?: string; part?: string; done?: number | true; estimate?: object };
  const program = join(import.meta.dirname, "take-over-program.ts");

  /** In a process of its own, which is killed at the given line. Returns what it printed. */
  async function run(home: string, isEnd: (line: Line) => boolean): Promise<Line[]> {
    const child = spawn(process.execPath, [program, home], { stdio: ["ignore", "pipe", "inherit"] });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const lines: Line[] = [];
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as Line;
      lines.push(line);
      if (isEnd(line)) child.kill("SIGKILL");
    }
    await exited;
    return lines;
  }

  test("continues where it was, and the old file can be used until the end", async () => {
    const home = await makeLargeHome(2_500);
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const untouched = copyOf(home);
    const ends: ((line: Line) => boolean)[] = [
      ({ estimate }) => estimate !== undefined,
      ({ part }) => part === "events",
      ({ part }) => part === "jobs",
      ({ phase }) => phase === "verify",
      ({ phase }) => phase === "answers",
    ];
    let copied = 0;
    for (const isEnd of ends) {
      const lines = await run(home, isEnd);
      expect(readFileForm(fileOf(home))).toBe("rows");
      const copies = lines.filter(({ phase }) => phase === "copy");
      const [first, last] = [copies[0]?.done, copies.at(-1)?.done];
      if (first !== undefined) expect(first).toBeGreaterThan(copied);
      copied = (last as number | undefined) ?? copied;
    }
    const finished = await run(home, () => false);
    expect(finished.at(-1)).toMatchObject({ done: true, jobs: 2_500, damaged: [] });
    expect(readFileForm(fileOf(home))).toBe("frames");
    const verdict = await verifyAudit({ home, env: {} });
    expect(verdict.faults).toEqual([]);
    expect(verdict.records).toBe((await verifyAudit({ home: untouched, env: {} })).records);
    expect(await verifySeals({ home, env: {} })).toMatchObject({ broken: [], checked: 2_500 });
  });
});
