import { expect, test } from "vitest";
import { compareTroubles, type ToldTroubles, type Trouble, troubleText } from "./troubles.ts";

const minuteMs = 60_000;
const kinds = ["WORKER_SILENT", "NO_WORKER"] as const;
const silent = (subject: string): Trouble => ({
  kind: "WORKER_SILENT",
  subject,
  says: `worker ${subject} is silent`,
});

/** Compares the findings of each round; returns what each round reported. */
function tellings(rounds: Trouble[][], stepMs = minuteMs): string[][] {
  let told: ToldTroubles = {};
  return rounds.map((found, index) => {
    const compared = compareTroubles(told, found, { kinds, nowMs: index * stepMs });
    told = JSON.parse(JSON.stringify(compared.told)) as ToldTroubles;
    return compared.reports.map(
      ({ state, troubles }) => `${state} ${troubles.map(({ subject }) => subject).join(" ")}`,
    );
  });
}

test("O-23 a trouble is reported once when it begins and once when it ends", () => {
  const rounds = [[silent("a")], [silent("a")], [silent("a"), silent("b")], [silent("b")], [], []];
  expect(tellings(rounds)).toEqual([["begun a"], [], ["begun b"], ["over a"], ["over b"], []]);
});

test("O-23 many troubles at once are one message, which lists a few of them", () => {
  const many = Array.from({ length: 50 }, (_, index) => silent(`w${index}`));
  const { reports } = compareTroubles({}, many, { kinds, nowMs: 0 });
  expect(reports).toHaveLength(1);
  const { subject, body, data } = troubleText(reports[0]!, { nowMs: 0, hub: "https://hub.example" });
  expect(subject).toBe("[HIGH] WORKER_SILENT: 50 at once");
  expect(body).toContain("worker w0 is silent\n");
  expect(body).toContain("\nand 30 more\n");
  expect(body).toContain("\nhub: https://hub.example\n");
  expect(JSON.parse(data)).toMatchObject({ event: "WORKER_SILENT", state: "begun", count: 50 });
});

test("the message about the end of a trouble begins with the present state and names the hub", () => {
  const report = { kind: "DISK_FULL", state: "over" } as const;
  const troubles = [{ subject: "database", says: "the disk of the database is full" }];
  const { body, data } = troubleText({ ...report, troubles }, { nowMs: 0, hub: "box:/srv/writ" });
  expect(body.split("\n")).toEqual([
    "there is room on the disk again: database. Before: the disk of the database is full",
    "time: 1970-01-01T00:00:00.000Z",
    "hub: box:/srv/writ",
  ]);
  expect(JSON.parse(data)).toMatchObject({ state: "over", hub: "box:/srv/writ" });
});

test("O-23 a trouble that comes and goes is reported at most once a minute, and not at all if it has ended by then", () => {
  const flapping = [[silent("a")], [], [silent("a")], [], [silent("a")], [], []];
  expect(tellings(flapping, minuteMs / 6)).toEqual([["begun a"], [], [], [], [], [], ["over a"]]);
});
