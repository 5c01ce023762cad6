import fc from "fast-check";
import { expect, test } from "vitest";
import { createContext } from "../../create-context.ts";
import { loadProgram } from "../../program.ts";
import { jobctlShape } from "../program.ts";
import { limitFlags, splitCommand, valueFlags } from "./split-command.ts";

test.each([
  [["start", "echo", "--cpu"]],
  [["start", "--mem"]],
  [["start", "echo", "--cpu", "--mem=100M"]],
  [["run", "echo", "--io", "--", "x"]],
])("a limit without its value is refused: %j", (args) => {
  expect(() => splitCommand(args)).toThrow(/needs a value/);
});

test.each([
  [["list", "--cpu", "500m"]],
  [["--home", "start", "list"]],
  [["--", "start", "ls"]],
  [["help", "start"]],
  [[]],
])("other commands keep all their words: %j", (args) => {
  expect(splitCommand(args)).toEqual({ args, words: undefined });
});

test.each([
  ["start ls / -lah", "start", "ls / -lah"],
  [
    "start echo hello world --cpu=500m --mem=100M --io=low",
    "start --cpu=500m --mem=100M --io=low",
    "echo hello world",
  ],
  ["start --cpu 500m echo --memory 1G hi", "start --cpu 500m --memory 1G", "echo hi"],
  [
    "--json start --timeout 10m --tag a --env A=--cpu x",
    "--json start --timeout 10m --tag a --env A=--cpu",
    "x",
  ],
  ["--home start run --detach ls --detach --json", "--home start run --detach", "ls --detach --json"],
  ["run -- sh -c --cpu=1", "run", "sh -c --cpu=1"],
  ["run --cpu 1 -- --odd", "run --cpu 1", "--odd"],
  ["run git checkout --pids 9 -- --cpu=1", "run --pids 9", "git checkout -- --cpu=1"],
  ["run - --cpu 1", "run --cpu 1", "-"],
  ["start --help", "start --help", ""],
  ["start --nonsense ls -l", "start --nonsense", "ls -l"],
  ["start --env=A=1 --home=/x start run", "start --env=A=1 --home=/x", "start run"],
])("%s", (given, args, words) => {
  expect(splitCommand(given.split(" "))).toEqual({
    args: args.split(" "),
    words: words === "" ? [] : words.split(" "),
  });
});

const limit = fc
  .tuple(fc.constantFrom(...Object.keys(limitFlags)), fc.constantFrom("1", "low", "x=y"), fc.boolean())
  .map(([flag, value, isOneWord]) => (isOneWord ? [`${flag}=${value}`] : [flag, value]));
const commandWord = fc
  .oneof(
    fc.string(),
    fc.constantFrom("-l", "--json", "--home", "--env", "-", "--cpus", "--cp=1", "--help", "start"),
  )
  .filter((word) => word !== "--" && !Object.hasOwn(limitFlags, word.split("=", 1)[0]!));
const firstWord = commandWord.filter((word) => word === "-" || !word.startsWith("-"));
const tail = fc.array(fc.oneof(fc.string(), fc.constantFrom("--", "--cpu", "--mem=1")));
const ownFlags = fc.array(
  fc.oneof(
    fc.constantFrom(["--json"], ["--detach"]),
    fc.tuple(fc.constantFrom(...valueFlags), fc.string()).map(([flag, value]) => [flag, value]),
  ),
);

test("no word of the command is lost, added or moved, and every limit is found", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("start", "run"),
      ownFlags,
      firstWord,
      fc.array(
        fc.oneof(
          limit,
          commandWord.map((word) => [word]),
        ),
      ),
      fc.option(tail, { nil: undefined }),
      (name, own, first, mixed, after) => {
        const isLimit = (part: string[]): boolean => Object.hasOwn(limitFlags, part[0]!.split("=", 1)[0]!);
        const ending = after === undefined ? [] : ["--", ...after];
        const split = splitCommand([...own.flat(), name, ...own.flat(), first, ...mixed.flat(), ...ending]);
        expect(split.words).toEqual([first, ...mixed.filter((part) => !isLimit(part)).flat(), ...ending]);
        expect(split.args).toEqual([...own.flat(), name, ...own.flat(), ...mixed.filter(isLimit).flat()]);
      },
    ),
  );
});

test("after a first -- every word is the command's", () => {
  fc.assert(
    fc.property(ownFlags, fc.array(fc.string()), (own, words) => {
      expect(splitCommand(["run", ...own.flat(), "--", ...words])).toEqual({
        args: ["run", ...own.flat()],
        words,
      });
    }),
  );
});

test("the flags here are those that the commands know", async () => {
  const stream = { on: () => stream, write: () => true };
  const view = { argv: [], env: {}, execPath: "", cwd: () => "/", stdout: stream, stderr: stream };
  const program = await loadProgram(createContext("jobctl", view as never), jobctlShape);
  const commands = [program, ...program.commands.filter((each) => ["start", "run"].includes(each.name()))];
  const withValue = commands.flatMap(({ options }) => options.filter(({ required }) => required));
  const names = withValue.flatMap(({ short, long }) => [short, long]).filter((name) => name !== undefined);
  expect(new Set(names)).toEqual(new Set([...valueFlags, ...Object.keys(limitFlags)]));
});
