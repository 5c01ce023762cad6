import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { root, stateDir } from "./paths.mjs";
import { runPinned } from "./run-pinned.mjs";

const reportFile = join(stateDir, "vitest.json");
/** Chance breaks no more files in one run: if there are more, trying again would only take time. */
const triedAgainMax = 5;

/** Each check resolves to how many things passed, failed and were skipped in it. */
export function lint() {
  return wholeStep("format and lint", ["node_modules/@biomejs/biome/bin/biome", "check", "."]);
}

export function typecheck() {
  return wholeStep("types", ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "."]);
}

/** The dashboard runs in a browser, with other globals than Node has. */
export function typecheckDashboard() {
  return wholeStep("types of the dashboard", [
    "node_modules/typescript/bin/tsc",
    "--noEmit",
    "-p",
    "src/dashboard",
  ]);
}

/** What a job costs in statements, syncs, messages and bytes, against the committed values. */
export function guard() {
  return wholeStep("costs of a job", ["bench/guard.ts"]);
}

/**
 * Runs all tests. Files in which something failed run once more, alone: a test that passes then does not fail the run, and
 * is named at its end, because it is unsteady or has found a defect that shows only beside others.
 */
export async function runAllTests() {
  const first = await runTests([]);
  const report = readReport();
  const failures = failuresIn(report);
  const files = [...new Set(failures.map(({ file }) => file))];
  if (files.length === 0 || files.length > triedAgainMax) return first;

  const again = `once more and alone: ${files.join(", ")}`;
  const second = await runTests(["--no-file-parallelism", ...files], again);
  const before = countReport({ testResults: report.testResults.filter(({ name }) => files.includes(name)) });
  const stillFailing = new Set(failuresIn(readReport()).map(({ title }) => title));
  return {
    passed: first.passed - before.passed + second.passed,
    failed: first.failed - before.failed + second.failed,
    skipped: first.skipped - before.skipped + second.skipped,
    unsteady: failures.map(({ title }) => title).filter((title) => !stillFailing.has(title)),
  };
}

/** Runs vitest; the counts come from its JSON report, not from its terminal output. */
export async function runTests(args, name = "tests") {
  announce(name);
  rmSync(reportFile, { force: true });
  const reporters = [
    "--reporter=default",
    "--reporter=./test/run/progress-reporter.ts",
    "--reporter=json",
    `--outputFile.json=${reportFile}`,
  ];
  const status = await runPinned(["node_modules/vitest/vitest.mjs", "run", ...reporters, ...args]);
  const counts = countReport(readReport());

  // An error outside any test, a crash, or no test at all must not look like success.
  if (counts.failed === 0 && (status !== 0 || counts.passed === 0)) {
    console.error(status !== 0 ? `vitest exited with status ${status}` : "no test ran");
    counts.failed = 1;
  }
  return counts;
}

/** What vitest wrote of its last run; empty if it did not get that far. */
function readReport() {
  return existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, "utf8")) : { testResults: [] };
}

/** A file that failed without a test that failed, as when it cannot be loaded, counts as one failure. */
export function countReport({ testResults }) {
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const passed = tests.filter(({ status }) => status === "passed").length;
  const failed = failuresIn({ testResults }).length;
  return { passed, failed, skipped: tests.length - passed - tests.filter(hasFailed).length };
}

function failuresIn({ testResults }) {
  return testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, assertionResults }) => {
      const failed = assertionResults.filter(hasFailed);
      const titles = failed.length === 0 ? ["the file as a whole"] : failed.map(({ fullName }) => fullName);
      return titles.map((title) => ({ file: name, title: `${relative(root, name)}: ${title}` }));
    });
}

function hasFailed({ status }) {
  return status === "failed";
}

/** Names what failed at first, prints the totals as the last line and sets the exit code. */
export function conclude(results) {
  for (const title of results.flatMap(({ unsteady = [] }) => unsteady)) {
    console.log(`unsteady: failed at first, and passed when it ran once more: ${title}`);
  }
  const sum = (kind) => results.reduce((total, counts) => total + counts[kind], 0);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
  process.exitCode = sum("failed") === 0 ? 0 : 1;
}

/** A step that succeeds adds nothing to the passed tests; one that fails counts as one failure. */
async function wholeStep(name, args) {
  announce(name);
  const status = await runPinned(args);
  if (status !== 0) console.error(`${name}: failed with status ${status}`);
  return { ...none(), failed: status === 0 ? 0 : 1 };
}

function announce(name) {
  console.log(`── ${name}`);
}

function none() {
  return { passed: 0, failed: 0, skipped: 0 };
}
