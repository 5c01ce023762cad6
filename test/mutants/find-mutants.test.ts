import { expect, test } from "vitest";
import { findCMutants } from "./find-c-mutants.ts";
import { findMutants } from "./find-mutants.ts";

const whats = (source: string): string[] => findMutants("guard.ts", source).map(({ what }) => what);
const texts = (source: string): string[] => findMutants("guard.ts", source).map(({ text }) => text);

test("a refusal is taken away, and each part of its condition", () => {
  expect(texts("function f(a, b) { if (a && b) throw new Error(); return 1; }")).toEqual([
    "function f(a, b) { if (false) throw new Error(); return 1; }",
    "function f(a, b) { if ((b)) throw new Error(); return 1; }",
    "function f(a, b) { if ((a)) throw new Error(); return 1; }",
  ]);
});

test("an answer that compares is made constant, and a choice loses each side", () => {
  expect(texts("const f = (a: number) => a === 1;")).toEqual([
    "const f = (a: number) => true;",
    "const f = (a: number) => false;",
  ]);
  expect(texts("function f(a) { return a ? null : 2; }")).toEqual([
    "function f(a) { return (null); }",
    "function f(a) { return (2); }",
  ]);
});

test("a call that only checks is not made", () => {
  expect(texts("async function f(a) { await checkRate(a); send(a); }")).toEqual([
    "async function f(a) { {} send(a); }",
  ]);
});

test("what is no decision is left alone", () => {
  expect(whats("function f(a) { if (a) { send(a); } return a + 1; }")).toEqual([]);
  expect(whats("const name = given ?? 'none';")).toEqual([]);
});

test("a mutant has the line and the words of its place", () => {
  const [mutant] = findMutants("guard.ts", "\nif (a !==\n  b) throw c;\n");
  expect(mutant).toMatchObject({ path: "guard.ts", line: 2, what: "never: a !== b" });
});

test("a step of the launcher is refused never, or taken as done", () => {
  const source =
    "if (chdir(dir) != 0) return fail(f, S);\nreturn first(a)  //\n  && second(a, b(c)) && open(d) == 1;\n";
  expect(findCMutants("step.c", source).map(({ line, what, text }) => [line, what, text])).toEqual([
    [1, "never: chdir(dir) != 0", source.replace("chdir(dir) != 0", "0 && (chdir(dir) != 0)")],
    [3, "skipped: second(a, b(c))", source.replace("second(a, b(c))", "(1 || second(a, b(c)))")],
  ]);
});
