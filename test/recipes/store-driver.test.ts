import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CheckoutCopy } from "./checkout-copy.ts";
import { readRecipe } from "./read-recipe.ts";

const driver = "src/store/memory/open-store.ts";
const contract = "test/store-contract/memory.test.ts";
/** Every driver under test has these. */
const always = ["open", "remove", "onCommit", "close"];

const copy = new CheckoutCopy(["src", "test", "package.json", "tsconfig.json", "vitest.config.ts"]);
let answers: Map<string, { passed: boolean; words: string }>;
let needs: Record<string, string[]>;
/** Tests that the drivers themselves skip call nothing. */
let skipped: string[];

/** Runs the contract on what docs/recipes/store-driver.md gives, and on SQLite, where it notes what each test calls. */
beforeAll(async () => {
  const [memory, suite] = readRecipe("store-driver");
  copy.write(driver, memory!);
  copy.write(contract, suite!);
  copy.write("test/store-contract/watched.test.ts", watchedSuite);
  const report = await copy.runTests(contract, "test/store-contract/watched.test.ts");
  answers = new Map(
    report.filter(({ file }) => file.endsWith("memory.test.ts")).map((answer) => [answer.name, answer]),
  );
  needs = JSON.parse(readFileSync(join(copy.dir, "needs.json"), "utf8"));
  skipped = report
    .filter(({ file, passed }) => file.endsWith("watched.test.ts") && !passed)
    .map(({ name }) => name);
});
afterAll(() => copy.remove());

const watchedSuite = `
import { writeFileSync } from "node:fs";
import { afterAll, expect } from "vitest";
import { describeStore } from "./describe-store.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";
import { openWithoutThread } from "./sqlite-without-thread.ts";
import { watchCalls } from "./watch-calls.ts";

const needs: Record<string, string[]> = {};
const hear = (name: string) => (needs[expect.getState().currentTestName!] ??= []).push(name);
describeStore("memory", () => watchCalls(sqliteUnderTest({}, openWithoutThread), hear));
afterAll(() => writeFileSync("needs.json", JSON.stringify(needs)));
`;

test("the type checker is content with a driver that has a few methods, and with its suite", async () => {
  expect(await copy.checkTypes(driver, contract)).toBe("");
});

test("exactly those tests of the contract fail that call a method which the driver does not have", () => {
  const has = [...always, "getQuota", "putQuota", "readEvents", "eventRange"];
  const called = Object.keys(needs).filter((name) => !skipped.includes(name));
  const expected = called.filter((name) => needs[name]!.every((method) => has.includes(method)));
  const passed = [...answers].filter(([, { passed }]) => passed).map(([name]) => name);
  expect(answers.size).toBe(Object.keys(needs).length);
  expect(skipped).toHaveLength(2);
  expect(expected.length).toBeGreaterThan(1);
  expect(passed.sort()).toEqual(expected.sort());
});

test("a test that fails names the method", () => {
  const { words } = answers.get("store on memory > claiming > gives nothing when there is nothing")!;
  expect(words).toContain("the driver does not implement claimJobs");
});
