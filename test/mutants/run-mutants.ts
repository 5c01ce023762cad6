import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { equivalents } from "./equivalent.ts";
import { findCMutants } from "./find-c-mutants.ts";
import { findMutants } from "./find-mutants.ts";
import { type Guard, guards } from "./guards.ts";
import type { Mutant } from "./mutant.ts";

// Takes each part of each guard away in turn, in a copy of the sources, and runs the tests that must notice. Prints the
// mutants that survive; ends with 1 if they are too many, or if one of them is not explained in equivalent.ts.

const root = join(import.meta.dirname, "../..");
const launcherFile = "node_modules/.writ/writ-launcher";
const { buildLauncher } = (await import(join(root, "launcher/build.mjs"))) as {
  buildLauncher(options: { root: string; outFile: string }): string | null;
};
/** Far longer than any of these tests take: a mutant that waits for ever has been noticed. */
const testsMs = 15 * 60_000;
const killedShareMin = 0.98;

type Verdict = "killed" | "survived" | "equivalent";
type Judged = { guard: string; mutant: Mutant; verdict: Verdict };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: "string", default: "2" }, list: { type: "boolean", default: false } },
});

const work = guards.flatMap((guard) =>
  guard.files
    .filter(
      (path) =>
        positionals.length === 0 || positionals.some((word) => guard.name === word || path.includes(word)),
    )
    .flatMap((path) => mutantsIn(path).map((mutant) => ({ guard, mutant }))),
);
if (work.length === 0) throw new Error(`no guard and no file of one is called ${positionals.join(" or ")}`);
if (values.list) for (const { mutant } of work) console.log(nameOf(mutant));
else await main();

async function main(): Promise<void> {
  console.log(`${work.length} mutants of ${new Set(work.map(({ mutant }) => mutant.path)).size} files`);
  const judged: Judged[] = [];
  const left = work.values();
  const copies = Array.from({ length: Number(values.jobs) }, makeCopy);
  try {
    await checkTests(copies[0]!);
    await Promise.all(
      copies.map(async (copy) => {
        for (const { guard, mutant } of left) {
          judged.push({ guard: guard.name, mutant, verdict: await judge(copy, guard, mutant) });
          tell(judged);
        }
      }),
    );
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
  conclude(judged);
}

/** A test that fails without any mutant would count them all as killed. */
async function checkTests(copy: string): Promise<void> {
  for (const { name, rounds } of new Set(work.map(({ guard }) => guard))) {
    for (const tests of rounds) {
      if (await passes(copy, tests)) continue;
      throw new Error(`${name}: a test fails without any mutant; run \`npm test -- ${tests.join(" ")}\``);
    }
  }
}

function mutantsIn(path: string): Mutant[] {
  const source = readFileSync(join(root, path), "utf8");
  return path.endsWith(".c") ? findCMutants(path, source) : findMutants(path, source);
}

/** The sources as git knows them, with our packages, and what set-up has built as files of its own. */
function makeCopy(): string {
  const copy = mkdtempSync("/var/tmp/writ-mutants-");
  const { stdout } = spawnSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const path of stdout.split("\0").filter((name) => name !== "")) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  mkdirSync(join(copy, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules"))) {
    const from = join(root, "node_modules", name);
    if (name === ".writ")
      cpSync(from, join(copy, "node_modules", name), { recursive: true, verbatimSymlinks: true });
    else symlinkSync(from, join(copy, "node_modules", name));
  }
  return copy;
}

async function judge(copy: string, guard: Guard, mutant: Mutant): Promise<Verdict> {
  if (equivalents.some(({ path, what }) => path === mutant.path && what === mutant.what)) return "equivalent";
  put(copy, mutant.path, mutant.text);
  try {
    for (const tests of guard.rounds) if (!(await passes(copy, tests))) return "killed";
    return "survived";
  } finally {
    put(copy, mutant.path, readFileSync(join(root, mutant.path), "utf8"));
  }
}

function put(copy: string, path: string, text: string): void {
  writeFileSync(join(copy, path), text);
  if (path.endsWith(".c")) buildLauncher({ root: copy, outFile: join(copy, launcherFile) });
}

/** Whether all of these tests pass; it ends with the first that does not. */
async function passes(copy: string, tests: string[]): Promise<boolean> {
  const args = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.mutants.config.ts", ...tests];
  const child = spawn(process.execPath, args, {
    cwd: copy,
    stdio: "ignore",
    timeout: testsMs,
    killSignal: "SIGKILL",
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject);
  child.once("exit", resolve);
  return (await promise) === 0;
}

function tell(judged: Judged[]): void {
  const { mutant, verdict } = judged.at(-1)!;
  if (verdict === "survived") console.log(`survived: ${nameOf(mutant)}`);
  if (judged.length % 20 === 0) console.log(`${judged.length} of ${work.length}`);
}

function conclude(judged: Judged[]): void {
  for (const [guard, ofGuard] of Map.groupBy(judged, (one) => one.guard))
    console.log(`${guard}: ${sums(ofGuard)}`);
  console.log(`all: ${sums(judged)}`);
  const survived = count(judged, "survived");
  const share = count(judged, "killed") / (judged.length - count(judged, "equivalent"));
  if (share < killedShareMin || survived > 0) process.exitCode = 1;
}

function sums(judged: Judged[]): string {
  const kinds = ["killed", "survived", "equivalent"] as const;
  return kinds.map((kind) => `${count(judged, kind)} ${kind}`).join(", ");
}

function count(judged: Judged[], wanted: Verdict): number {
  return judged.filter(({ verdict }) => verdict === wanted).length;
}

function nameOf({ path, line, what }: Mutant): string {
  return `${path}:${line} ${what}`;
}
