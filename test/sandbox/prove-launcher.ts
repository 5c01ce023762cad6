import { execFile, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { builtLauncherFile } from "../../src/sandbox/launcher/launcher.ts";
import { obstacle, userObstacle } from "./cage-stage.ts";

const root = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "writ-proofs-"));
const sources = globSync("launcher/**/*.c", { cwd: root, exclude: ["launcher/test/**"] }).sort();
/** The code behind the door, without its socket. */
const raceSources = ["test/race-open", "open-beneath", "plan/wire", "kernel", "fatal"].map(
  (name) => `launcher/${name}.c`,
);
const strictFlags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"];
const sanitizers = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
const checksCount = 90;
// Far more than any of these takes on a busy machine; a proof that hangs still ends.
const proofTimeoutMs = 15 * 60_000;

const compilers = ["gcc", "clang"].filter((name) => isThere(name, ["--version"]));
const compiler = compilers[0] ?? "cc";
const noCompiler = compilers.length === 0 ? "no gcc and no clang" : null;
const noSanitizer = noCompiler ?? (canSanitize() ? null : `${compiler} has no sanitizers here`);
const hasCgroups = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].some((dir) =>
  existsSync(join(dir, "cgroup.procs")),
);
const noCage = obstacle ?? (hasCgroups ? null : "no cgroup v2");
const noStrace = isThere("strace", ["--version"]) ? null : "no strace";

/**
 * What the compilers, the sanitizers, faults and races show about the launcher. `errors` are those with which the calls of a
 * start as root fail, one at a time.
 */
export function proveLauncher({
  errors,
  racingOpens,
}: {
  errors: readonly string[];
  racingOpens: number;
}): void {
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  for (const name of ["gcc", "clang"]) {
    prove(
      `${name} has nothing to say about the launcher`,
      [isThere(name, ["--version"]) ? null : `no ${name}`],
      async () => {
        expect(sources.length).toBeGreaterThan(20);
        await build(name, strictFlags, sources, `quiet-${name}`);
        await build(name, strictFlags, raceSources, `quiet-race-${name}`);
      },
    );
  }

  proveTogether("the launcher keeps what it promises", [noCage, noStrace], () =>
    expectAllHold(builtLauncherFile),
  );

  const sanitized = "the launcher keeps it under ASan and UBSan, which find nothing";
  proveTogether(sanitized, [noCage, noStrace, noSanitizer], async () => {
    await expectAllHold(await build(compiler, [...strictFlags, ...sanitizers], sources, "sanitized"));
  });

  proveTogether("a start that hangs is given up", [noCage, noCompiler], async () => {
    const impatient = await build(compiler, [...strictFlags, "-DSTART_MS_MAX=500u"], sources, "impatient");
    const script = join(root, "launcher/test/check-hang.mjs");
    const { status, stdout, stderr } = await run(process.execPath, [script, impatient]);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout.match(/^ok /gm)).toHaveLength(1);
  });

  const noUser = noCage ?? userObstacle();
  const claim = "whichever call fails, a job has every protection or does not run";
  proveTogether(claim, [noCage, noStrace, noCompiler], () => expectNoHalfCage([...errors]));
  // Calls that fail in one way more or less are no news after the sweep as root; other calls are.
  proveTogether(`without root, ${claim}`, [noUser, noStrace, noCompiler], () =>
    expectNoHalfCage(["--user", "EPERM"]),
  );

  prove(
    `P-05: ${racingOpens} opens in a race with renames never leave their directory`,
    [noCompiler],
    async () => {
      const program = await build(compiler, strictFlags, raceSources, "race-open");
      const { status, stdout, stderr } = await run(program, [join(scratch, "tree"), String(racingOpens)]);
      expect(status, stderr).toBe(0);
      const { naive, door, rounds } = JSON.parse(stdout);
      expect(door).toMatchObject({ tries: racingOpens, escapes: 0 });
      // The race was there: it gave both answers, and a program that looks first and opens afterwards lost it.
      expect(door.opened).toBeGreaterThan(0);
      expect(door.refused).toBeGreaterThan(0);
      expect(rounds).toBeGreaterThan(1_000);
      expect(naive.escapes).toBe(1);
    },
  );
}

/** A proof that cannot be had here is skipped, and its name says why. */
function prove(
  name: string,
  obstacles: (string | null)[],
  body: () => Promise<void>,
  options: { concurrent?: boolean } = {},
): void {
  const why = obstacles.filter((one) => one !== null).join(", ");
  if (why === "") test(name, { timeout: proofTimeoutMs, ...options }, body);
  else test.skip(`${name} (not capable: ${why})`, body);
}

/** With those beside it: each has folders and cgroups of its own, and waits for processes for two thirds of its time. */
function proveTogether(...[name, obstacles, body]: Parameters<typeof prove>): void {
  prove(name, obstacles, body, { concurrent: true });
}

async function expectNoHalfCage(words: string[]): Promise<void> {
  const sweep = join(root, "launcher/test/sweep.mjs");
  const { status, stdout, stderr } = await run(process.execPath, [sweep, builtLauncherFile, ...words]);
  expect(status, stdout + stderr).toBe(0);
  const totals = JSON.parse(stdout.trim().split("\n").at(-1)!);
  expect(totals).toMatchObject({ HALF: 0, HANGS: 0 });
  // A sweep that injected nothing would find nothing.
  expect(totals["did not run"]).toBeGreaterThan(400);
  expect(totals["ran with everything"]).toBeGreaterThan(0);
}

async function expectAllHold(launcherFile: string): Promise<void> {
  const { status, stdout, stderr } = await run(process.execPath, [
    join(root, "launcher/test/check.mjs"),
    launcherFile,
  ]);
  expect(status, stdout + stderr).toBe(0);
  expect(stdout.match(/^ok /gm)).toHaveLength(checksCount);
}

async function build(name: string, flags: string[], files: readonly string[], out: string): Promise<string> {
  const program = join(scratch, out);
  const { status, stdout, stderr } = await run(name, [...flags, "-I", "launcher", "-o", program, ...files]);
  expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
  return program;
}

/** Never the blocking kind: these take minutes, and the test's own process has to answer meanwhile. */
function run(program: string, args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { cwd: root, timeout: proofTimeoutMs, maxBuffer: 16 * 1024 ** 2 };
    execFile(program, args, options, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ status, stdout, stderr });
    });
  });
}

function isThere(program: string, args: string[]): boolean {
  return spawnSync(program, args).status === 0;
}

function canSanitize(): boolean {
  const file = join(scratch, "empty.c");
  writeFileSync(file, "int main(void) { return 0; }\n");
  return isThere(compiler, [...sanitizers, "-o", join(scratch, "empty"), file]);
}
