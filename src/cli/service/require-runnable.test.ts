import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { requireRunnable, whyNotRunnable } from "./require-runnable.ts";

const isRoot = process.getuid?.() === 0;
const unprivileged = { uid: 65_534, gid: 65_534 };
const tell = (name: string): string => (isRoot ? name : `${name} (not capable: not root)`);

function layProgram(mode: number): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-runnable-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  chmodSync(dir, 0o755);
  const folder = join(dir, "closed");
  mkdirSync(folder);
  writeFileSync(join(folder, "program"), 'echo "program 1.0"\n', { mode: 0o644 });
  chmodSync(folder, mode);
  return join(folder, "program");
}

test.skipIf(!isRoot)(tell("a program in a folder that is closed to others is named with that folder"), () => {
  const program = layProgram(0o700);
  expect(whyNotRunnable(["/bin/sh", program], unprivileged)).toBe(
    `others may not enter ${program.replace("/program", "")}`,
  );
});

test.skipIf(!isRoot)(tell("a program that everybody can read can be started"), () => {
  expect(whyNotRunnable(["/bin/sh", layProgram(0o755)], unprivileged)).toBeNull();
});

test.skipIf(!isRoot)(tell("the error for a program that does not exist is the system's own"), () => {
  expect(whyNotRunnable(["/nowhere/node", "/nowhere/writ.js"], unprivileged)).toContain("ENOENT");
});

test.skipIf(!isRoot)(
  tell("a hub is refused where its account cannot start it, and the error says what to do"),
  () => {
    const plan = { home: "/var/lib/writ", program: ["/bin/sh", "/tmp/writ"] } as const;
    expect(() => requireRunnable({ ...plan, role: "hub", isOfUser: false })).toThrow(
      /the account writ, as which the hub would run, cannot start .*: its unit does not see the machine's \/tmp; nothing was changed, so install package and Node/,
    );
  },
);

test("a worker, and a service of one's own, run as the user who installs them", () => {
  const plan = { home: "/var/lib/writ", program: ["/nowhere/node"] } as const;
  expect(() => requireRunnable({ ...plan, role: "worker", isOfUser: false })).not.toThrow();
  expect(() => requireRunnable({ ...plan, role: "hub", isOfUser: true })).not.toThrow();
});
