import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { stateDir } from "./paths.mjs";
import { runPinned } from "./run-pinned.mjs";

const reportFile = join(stateDir, "vitest.json");

/** Each check returns how many things passed, failed and were skipped in it. */
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

/** Runs vitest; the counts come from its JSON report, not from its terminal output. */
export function runTests(args) {
  announce("tests");
  rmSync(reportFile, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const status = runPinned(["node_modules/vitest/vitest.mjs", "run", ...reporters, ...args]);
  const counts = existsSync(reportFile) ? countReport(JSON.parse(readFileSync(reportFile, "utf8"))) : none();

  // An error outside any test, a crash, or no test at all must not look like success.
  if (counts.failed === 0 && (status !== 0 || counts.passed === 0)) {
    console.error(status !== 0 ? `vitest exited with status ${status}` : "no test ran");
    counts.failed = 1;
  }
  return counts;
}

export function countReport(report) {
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** Prints the totals as the last line and sets the exit code. */
export function conclude(results) {
  const sum = (kind) => results.reduce((total, counts) => total + counts[kind], 0);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
  process.exitCode = sum("failed") === 0 ? 0 : 1;
}

/** A step that succeeds adds nothing to the passed tests; one that fails counts as one failure. */
function wholeStep(name, args) {
  announce(name);
  const status = runPinned(args);
  if (status !== 0) console.error(`${name}: failed with status ${status}`);
  return { ...none(), failed: status === 0 ? 0 : 1 };
}

function announce(name) {
  console.log(`── ${name}`);
}

function none() {
  return { passed: 0, failed: 0, skipped: 0 };
}
