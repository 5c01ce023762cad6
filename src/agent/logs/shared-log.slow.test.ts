import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { openAgentLog } from "./agent-log.ts";
import { SharedLog } from "./shared-log.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-shared-log-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const rotation = { sizeBytesMax: 2000, filesMax: 1000, checkMs: 1000 };
const unexpected = (file: string, reason: string): never => {
  throw new Error(`${file}: ${reason}`);
};

test("no line is lost or torn when many processes write and rotate at once", async () => {
  const [processes, lines] = [8, 400];
  const file = join(dir, "agent.log");
  // Each line by a log that was just opened, so that the size is looked at every time.
  const program = `
    const { SharedLog } = await import(${JSON.stringify(join(import.meta.dirname, "shared-log.ts"))});
    const { systemClock: clock } = await import(${JSON.stringify(join(import.meta.dirname, "../../runtime/clock/clock.ts"))});
    const deps = { clock, rotation: ${JSON.stringify(rotation)}, onRotationFailed(file, why) { throw new Error(why); } };
    for (let n = 0; n < ${lines}; n++) new SharedLog(deps, ${JSON.stringify(file)}).append(process.argv[1] + " " + n + " end\\n");
  `;
  const exits = await Promise.all(
    Array.from({ length: processes }, (_, n) => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program, `p${n}`], {
        stdio: "inherit",
      });
      return new Promise((resolve) => child.once("exit", resolve));
    }),
  );
  expect(exits).toEqual(Array.from({ length: processes }, () => 0));

  const names = readdirSync(dir).filter((name) => !name.includes(".lock"));
  // How often depends on the order of the locks: a writer that holds it while others write delays the next rotation.
  expect(names.length).toBeGreaterThan(1);
  const written = names.flatMap((name) => readFileSync(join(dir, name), "utf8").trimEnd().split("\n"));
  const wanted = Array.from(
    { length: processes * lines },
    (_, n) => `p${n % processes} ${Math.floor(n / processes)} end`,
  );
  expect(written.sort()).toEqual(wanted.sort());
});

test("the size is checked when a log is opened, at intervals, and after as much as a file may hold", async () => {
  const clock = handClock();
  const file = join(dir, "a.log");
  const log = new SharedLog({ clock, rotation, onRotationFailed: unexpected }, file);
  const rotated = () => readdirSync(dir).filter((name) => /\.\d+$/.test(name)).length;
  writeFileSync(file, `${"x".repeat(2500)}\n`);
  log.append("one\n");
  expect(rotated()).toBe(1);
  writeFileSync(file, `${"x".repeat(2500)}\n`);
  log.append("two\n");
  expect(rotated()).toBe(1);
  await clock.pass(1000);
  log.append("three\n");
  expect(rotated()).toBe(2);
  for (let n = 0; n < 60; n++) log.append(`${"y".repeat(99)}\n`);
  expect(rotated()).toBe(4);
});

test("only as many full files are kept as there may be", () => {
  const file = join(dir, "a.log");
  for (let n = 0; n < 10; n++) {
    const log = new SharedLog(
      { clock: handClock(), rotation: { ...rotation, filesMax: 2 }, onRotationFailed: unexpected },
      file,
    );
    log.append(`${n}${"x".repeat(2500)}\n`);
  }
  const firsts = ["a.log", "a.log.1", "a.log.2"].map((name) => readFileSync(join(dir, name), "utf8")[0]);
  expect(firsts).toEqual(["9", "8", "7"]);
  expect(readdirSync(dir).filter((name) => !name.includes(".lock"))).toHaveLength(3);
});

test("a rotation that fails is reported once, and every line is still written", () => {
  // A directory stands where the full file would go.
  mkdirSync(join(dir, "agent.log.1"));
  const settings = { logDir: dir, rotation: { ...rotation, filesMax: 1 } };
  for (let n = 0; n < 50; n++) openAgentLog(settings, handClock()).info({ job: `j${n}` }, "x".repeat(100));
  expect(readFileSync(join(dir, "agent.log"), "utf8").match(/job=j\d+ x{100}\n/g)).toHaveLength(50);
  const reports = readFileSync(join(dir, "agent.err.log"), "utf8");
  expect(reports.match(/agent\.log cannot be rotated/g)).toHaveLength(1);
});

test("a log that cannot be reached does not stop its writer", () => {
  writeFileSync(join(dir, "file"), "");
  const log = openAgentLog({ logDir: join(dir, "file", "log"), rotation }, handClock());
  expect(() => log.error({}, "not written anywhere")).not.toThrow();
});

test("a message is one line, and shows no token", () => {
  const settings = { stateDir: dir, logDir: dir, rotation };
  openAgentLog(settings, handClock()).error(
    { worker: "http_1" },
    "one\ntwo\u001b[31m Bearer sk_worker_abcdefghijklmnop",
  );
  const [line, ...more] = readFileSync(join(dir, "agent.log"), "utf8").trimEnd().split("\n");
  expect(more).toEqual([]);
  expect(line).toContain("error worker=http_1 one two [31m");
  expect(line).not.toContain("abcdefghijklmnop");
  expect(readFileSync(join(dir, "agent.err.log"), "utf8")).toContain("worker=http_1");
});
