import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const file = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
const jobctl = join(import.meta.dirname, "../jobctl.ts");

// More than any pipe takes at once.
const bytes = 4 * 1024 * 1024;

/** A process that prints much and then ends with code 3. */
function startProgram() {
  const code = `
import { createContext } from ${file("../create-context.ts")};
import { whenPrinted } from ${file("./when-printed.ts")};
const context = createContext("jobctl", process);
process.on("SIGINT", () => context.stops.request("SIGINT"));
context.stdout.write("x".repeat(${bytes}));
context.stderr.write("printed\\n");
process.exit(await whenPrinted(context, 3));`;
  return spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "pipe"] });
}

test("a process ends when its readers have all that it printed, and not before", async () => {
  const child = startProgram();
  child.stderr.resume();
  let read = 0;
  child.stdout.on("data", (piece: Buffer) => {
    read += piece.length;
  });
  expect([await once(child, "close"), read]).toEqual([[3, null], bytes]);
});

test("it does not wait for a reader that has gone", async () => {
  const child = startProgram();
  child.stderr.resume();
  await once(child.stdout, "readable");
  child.stdout.destroy();
  expect(await once(child, "close")).toEqual([3, null]);
});

test("it does not wait for a slow reader once it was asked to stop", async () => {
  const child = startProgram();
  await once(child.stderr.resume(), "data");
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([130, null]);
});

test("output that the disk has no room for is reported, and the exit code is not 0", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const child = spawn(process.execPath, [jobctl, "completion", "bash"], { stdio: ["ignore", full, "pipe"] });
  const said = text(child.stderr!);
  expect([await once(child, "close"), await said]).toEqual([
    [1, null],
    "jobctl: standard output cannot be written (ENOSPC)\n",
  ]);
});
