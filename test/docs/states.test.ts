import { expect, test } from "vitest";
import { failureClasses, failureDetails } from "../../src/core/jobs/failure.ts";
import { endedStates, type JobState } from "../../src/core/jobs/job.ts";
import { transitions } from "../../src/core/jobs/states.ts";
import { advice, readBlock, readTable, tableLines } from "./page.ts";

const page = "docs/states.md";

test("the diagram of states draws the table of transitions", () => {
  const expected = ["```mermaid", ...diagramLines(), "```"];
  expect(readBlock(page, "diagram").split("\n"), advice(page, expected)).toEqual(expected);
});

test("the page lists every act with where it leads and what it means", () => {
  const expected = transitions.map(({ act, from, to }) => [act, from.join(", "), to.join(", ")]);
  const written = readTable(readBlock(page, "acts"));
  const shown = advice(page, tableLines(["act", "from", "to"], expected));
  expect(
    written.map((cells) => cells.slice(0, 3)),
    shown,
  ).toEqual(expected);
  for (const [act, , , meaning] of written) expect(meaning, `${act} needs a meaning`).not.toBe("");
});

test("the page lists how often each class of failure is retried", () => {
  const expected = Object.entries(failureClasses).map(([code, { retries, delayMs }]) => [
    `\`${code}\``,
    String(retries),
    retries === 0 ? "" : `${delayMs / 1000} s × n`,
  ]);
  const shown = advice(page, tableLines(["class", "retries", "delay before retry n"], expected));
  expect(
    readTable(readBlock(page, "failures")).map((cells) => cells.slice(0, 3)),
    shown,
  ).toEqual(expected);
});

test("the page lists the details of each class of failure", () => {
  const byClass = Object.groupBy(Object.entries(failureDetails), ([, parent]) => parent);
  const expected = Object.entries(byClass).map(([parent, details]) => [
    `\`${parent}\``,
    details.map(([detail]) => `\`${detail}\``).join(", "),
  ]);
  const shown = advice(page, tableLines(["class", "details"], expected));
  expect(readTable(readBlock(page, "details")), shown).toEqual(expected);
});

/** One arrow for each pair of states, with all the acts that lead that way. */
function diagramLines(): string[] {
  const arrows = new Map<string, string[]>();
  for (const { act, from, to } of transitions) {
    for (const start of from) {
      for (const end of to) {
        const arrow = `  ${start} --> ${end}`;
        arrows.set(arrow, [...new Set([...(arrows.get(arrow) ?? []), act])]);
      }
    }
  }
  return [
    "stateDiagram-v2",
    "  [*] --> pending: submit",
    ...Array.from(arrows, ([arrow, acts]) => `${arrow}: ${acts.join(", ")}`),
    ...endedStates.map((state: JobState) => `  ${state} --> [*]`),
  ];
}
