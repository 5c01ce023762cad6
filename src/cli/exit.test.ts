import { CommanderError } from "commander";
import { expect, test } from "vitest";
import { type ErrorCode, errorTable, WritError } from "../core/errors.ts";
import { reportError } from "./exit.ts";
import { StopRequests } from "./stop-requests.ts";

function report(error: unknown, stops = new StopRequests()) {
  return reportFrom("jobctl", undefined, error, stops);
}

function reportFrom(
  program: "jobctl" | "writ",
  commandName: string | undefined,
  error: unknown,
  stops = new StopRequests(),
  args: string[] = [],
) {
  let said = "";
  const stderr = { write: (text: string) => (said += text) } as never;
  return { exitCode: reportError({ program, commandName, args, stderr, stops }, error), said };
}

test.each([
  ["writ", "tokens", "writ tokens list"],
  ["writ", "workers", "writ workers list"],
  ["writ", "keys", "writ keys list"],
  ["writ", "certs", "writ certs list"],
  ["jobctl", "status", "jobctl list"],
] as const)("C8: what %s %s does not find is looked for with %s", (program, command, advised) => {
  const { said } = reportFrom(program, command, new WritError("NOT_FOUND", "there is no x"));
  expect(said).toBe(`${program}: there is no x; ${said.slice(said.indexOf("`"))}`);
  expect(said).toContain(`\`${advised}\` shows`);
  expect(said.match(/` shows/g)).toHaveLength(1);
});

test("C8: the error of a conflict that is not about a job does not name `jobctl status`", () => {
  expect(reportFrom("writ", "keys", new WritError("STATE_CONFLICT", "it is active")).said).toBe(
    "writ: it is active\n",
  );
});

test.each([
  ["writ", "workers", "ask an administrator of the hub"],
  ["writ", "keys", "ask an administrator of the hub"],
  ["writ", "tokens", "ask an administrator of the hub"],
  ["writ", "lockdown", "ask an administrator of the hub"],
  ["jobctl", "audit", "ask an administrator of the hub"],
  ["jobctl", "workers", "ask an administrator of the hub"],
  ["jobctl", "run", "ask an administrator of the hub"],
  ["jobctl", "submit", "ask an administrator of the hub"],
  ["jobctl", "stop", "ask the job's user or an administrator"],
] as const)("a refusal of %s %s advises: %s", (program, command, advised) => {
  const { said } = reportFrom(program, command, new WritError("PERMISSION_DENIED", "no"));
  expect(said).toBe(`${program}: no; \`jobctl whoami\` shows who you are; ${advised}\n`);
});

test("the advice about a failing database can be followed on another machine than the hub's", () => {
  const { said } = report(new WritError("STORE_UNAVAILABLE", "the disk of the database is full"));
  expect(said).toContain(
    "; `writ doctor` shows whether the hub's database works again; if not, tell an administrator",
  );
});

test("what the hub has advised is not said again", () => {
  const error = new WritError("PERMISSION_DENIED", "not your own quota; ask an administrator of the hub");
  expect(reportFrom("writ", "quotas", error).said).toBe(
    "writ: not your own quota; ask an administrator of the hub; `jobctl whoami` shows who you are\n",
  );
});

test.each(Object.entries(errorTable))("%s ends with its own exit code, in one line", (code, { exit }) => {
  const { exitCode, said } = report(new WritError(code as ErrorCode, "it went wrong"));
  expect(exitCode).toBe(exit);
  expect(said).toMatch(/^jobctl: it went wrong[^\n]*\n$/);
});

test.each([
  ["INVALID_ARGUMENT", 2],
  ["NOT_FOUND", 4],
  ["UNAUTHENTICATED", 5],
  ["PERMISSION_DENIED", 5],
  ["HUB_UNREACHABLE", 6],
] as const)("%s is exit code %i and says what to do next", (code, expected) => {
  const { exitCode, said } = report(new WritError(code, "it went wrong"));
  expect(exitCode).toBe(expected);
  expect(said).toMatch(/^jobctl: it went wrong; .+\n$/);
});

test("a message from outside cannot steer the terminal or show a token", () => {
  const { said } = report(new WritError("INTERNAL", "a\nb\x1b[2J sk_admin_abcdefgh"));
  expect(said).toMatch(/^jobctl: a\\nb\\x1b\[2J sk_admin_\*\*\*;.*\n$/);
});

test("a list of matches follows below the line", () => {
  const { said } = report(new WritError("INVALID_ARGUMENT", "which", { list: "\n  one\n  two" }));
  expect(said.split("\n").slice(1)).toEqual(["  one", "  two", ""]);
});

test("with --json an error is one JSON object with its code and what to do next", () => {
  const json = (error: unknown, args = ["status", "x", "--json"]) =>
    reportFrom("jobctl", "status", error, new StopRequests(), args);
  const missing = json(
    new WritError("NOT_FOUND", "there is no x\n\x1b[2J sk_admin_abcdefgh", {
      status: 404,
      request_id: "01JCW",
    }),
  );
  expect(missing.exitCode).toBe(4);
  expect(missing.said).toMatch(/^[^\n\x1b]+\n$/);
  expect(JSON.parse(missing.said)).toEqual({
    error: {
      code: "NOT_FOUND",
      message: "there is no x\n\x1b[2J sk_admin_***",
      advice: "`jobctl list` shows your jobs",
      request_id: "01JCW",
      details: { status: 404 },
    },
  });
  expect(JSON.parse(json(new TypeError("boom")).said)).toEqual({
    error: { code: "INTERNAL", message: "boom" },
  });
  expect(json(new TypeError("boom"), ["run", "--", "x", "--json"]).said).toBe("jobctl: boom\n");
});

test("usage errors have been explained by commander", () => {
  expect(report(new CommanderError(1, "commander.unknownOption", "x"))).toEqual({ exitCode: 2, said: "" });
  expect(report(new CommanderError(0, "commander.helpDisplayed", "x"))).toEqual({ exitCode: 0, said: "" });
});

test("what a signal has cut off ends with the signal's code and no complaint", () => {
  const stops = new StopRequests();
  stops.request("SIGINT");
  expect(report(new DOMException("aborted", "AbortError"), stops)).toEqual({ exitCode: 130, said: "" });
});

test("an unexpected error is a failure in one line", () => {
  expect(report(new TypeError("boom"))).toEqual({ exitCode: 1, said: "jobctl: boom\n" });
});
