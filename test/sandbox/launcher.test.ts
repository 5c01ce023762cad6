import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Clock } from "../../src/runtime/clock/clock.ts";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { Launcher } from "../../src/sandbox/launcher/launcher.ts";
import { frame, type LauncherPlan, protocol, tag } from "../../src/sandbox/launcher/launcher-protocol.ts";
import { eventually } from "../support/eventually.ts";

let dir: string;
let nowMs: number;
const deaths: string[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-launcher-"));
  nowMs = 0;
  deaths.length = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const clockAtNow = { ...handClock(), monotonicMs: () => nowMs };

/** A program that is no launcher, but says what it is told to on descriptor 3. */
function launcherThat(script: string, clock = clockAtNow): Launcher {
  const file = join(dir, "launcher");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return new Launcher({
    file,
    clock,
    onDeath: (reason) => deaths.push(reason),
  });
}

const ready = (version: number) =>
  `printf '\\${octal(14)}\\0\\0\\0\\${octal(frame.READY)}\\0\\0\\0\\0\\${octal(tag.VERSION)}\\4\\0\\0\\0\\${octal(version)}\\0\\0\\0' >&3`;
const octal = (value: number) => value.toString(8);

const plan = {
  argv: ["true"],
  env: [],
  cwd: "/",
  protections: 0,
  mounts: [],
  stdoutFile: "/x",
  stderrFile: "/y",
  stdoutBytesMax: 0,
  stderrBytesMax: 0,
  masks: [],
  rlimits: [],
} satisfies LauncherPlan;

test("a launcher that is not there says so", async () => {
  const launcher = new Launcher({ file: join(dir, "none"), clock: { monotonicMs: () => 0 } as Clock });
  expect(await launcher.obstacle()).toContain("ENOENT");
  await expect(launcher.start(plan)).rejects.toThrow("the launcher is gone");
});

test("a launcher of another version is not used", async () => {
  const launcher = launcherThat(`${ready(protocol.PROTOCOL_VERSION + 1)}; exec sleep 60`);
  await expect(launcher.start(plan)).rejects.toThrow(
    `it uses protocol version ${protocol.PROTOCOL_VERSION + 1} and not ${protocol.PROTOCOL_VERSION}; run \`npm run setup\``,
  );
});

test("one that says what no launcher says is not used", async () => {
  await expect(launcherThat("echo hello >&3; exec sleep 60").start(plan)).rejects.toThrow("is not possible");
});

test("the last words of one that dies are told", async () => {
  await expect(launcherThat("echo no such kernel >&2; exit 3").start(plan)).rejects.toThrow(
    "it ended with status 3 (no such kernel)",
  );
});

test("one that dies again and again is tried less and less often", async () => {
  const launcher = launcherThat("exit 1");
  await expect(launcher.start(plan)).rejects.toThrow("the launcher is gone");
  await expect(launcher.start(plan)).rejects.toThrow("the next try is in 100 ms");
  nowMs = 100;
  await expect(launcher.start(plan)).rejects.not.toThrow("the next try");
  await expect(launcher.start(plan)).rejects.toThrow("the next try is in 200 ms");
});

test("a start that was under way when the launcher died is not waited for", async () => {
  const launcher = launcherThat(`${ready(protocol.PROTOCOL_VERSION)}; head -c 1 <&3 >/dev/null; exit 5`);
  await expect(launcher.start(plan)).rejects.toThrow("the launcher is gone");
  expect(deaths).toHaveLength(1);
});

test("A18: one that hangs is ended after a minute, like one that dies", async () => {
  const clock = handClock();
  const launcher = launcherThat(`${ready(protocol.PROTOCOL_VERSION)}; exec sleep 1000`, clock);
  const start = launcher.start(plan);
  const outcome = expect(start).rejects.toMatchObject({
    message: "the launcher is gone: it has not answered for 45 s",
    mayHaveBegun: true,
  });
  await eventually("it is ended", async () => {
    await clock.pass(15_000);
    return deaths.length > 0;
  });
  await outcome;
});

test("after its stop nothing is started any more", async () => {
  const launcher = launcherThat(`${ready(protocol.PROTOCOL_VERSION)}; exec sleep 60`);
  await launcher.stop();
  await expect(launcher.start(plan)).rejects.toThrow("it was stopped");
});
