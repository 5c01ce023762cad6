import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../src/hub/admin.ts";
import { listedEntries } from "../../src/store/frames/frame.ts";
import { editRows, readRows, tamperWith } from "../support/database.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { completedJob } from "../support/jobs.ts";

// Somebody edits records in the database, and the frames that they are in.

let whole: string;

beforeAll(async () => {
  const hub = await startTestHub(stillEnv);
  for (let count = 0; count < 5; count++) await completedJob(hub);
  await hub.stop({ keepHome: true });
  whole = hub.home;
});
afterAll(() => rmSync(whole, { recursive: true, force: true }));

function copyHome(): string {
  const home = mkdtempSync(join(tmpdir(), "writ-frames-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  cpSync(whole, home, { recursive: true, preserveTimestamps: true });
  return home;
}

const faultsOf = async (home: string) => (await verifyAudit({ home, env: {} })).faults;

type Frame = { number: number; first: number; last: number };

/** Frames with events, oldest first. */
function framesOf(home: string): Frame[] {
  const sql = `SELECT number, first_event AS first, last_event AS last FROM frames
    WHERE last_event >= first_event ORDER BY number`;
  return readRows(home, sql) as Frame[];
}

const frameWith = (home: string, seq: number): Frame =>
  framesOf(home).find(({ first, last }) => first <= seq && seq <= last)!;

describe("L-06: the audit trail in group frames", () => {
  test("is whole after a clean stop, and signed to its last record", async () => {
    const verdict = await verifyAudit({ home: whole, env: {} });
    expect(verdict).toMatchObject({ faults: [], unsealed: 0, first: 1 });
    expect(verdict.records).toBeGreaterThan(20);
    expect(verdict.signedThrough).toBe(verdict.last);
  });

  test("shows an edited record, and one that was overwritten", async () => {
    const edited = copyHome();
    await tamperWith(edited).editEvent(7, '{"forged":true}');
    expect(await faultsOf(edited)).toContainEqual({ seq: 7, what: "was changed after it was sealed" });
    const overwritten = copyHome();
    await tamperWith(overwritten).removeEvent(9);
    expect(await faultsOf(overwritten)).toEqual([{ seq: 9, what: "was removed; its seal is still there" }]);
  });

  test("shows a record whose hash somebody changed in the head of its frame", async () => {
    const home = copyHome();
    const { number, first } = frameWith(home, 7);
    const [row] = readRows(home, "SELECT head FROM frames WHERE number = ?", number);
    const head = Buffer.from(row!["head"] as Uint8Array);
    head[listedEntries(head, "events").listAt]! ^= 1;
    editRows(home, "UPDATE frames SET head = ? WHERE number = ?", head, number);
    expect((await faultsOf(home)).map(({ seq }) => seq)).toContain(first);
  });

  test("shows a frame that was removed", async () => {
    const home = copyHome();
    const { number, first, last } = frameWith(home, 9);
    editRows(home, "DELETE FROM frames WHERE number = ?", number);
    const what = first === last ? "was removed" : `was removed, and so were all up to ${last}`;
    expect(await faultsOf(home)).toEqual([{ seq: first, what }]);
  });

  test("shows a frame that was copied to the end", async () => {
    const home = copyHome();
    const { number, first, last } = frameWith(home, 7);
    const end = framesOf(home).at(-1)!;
    const copy = readRows(home, "SELECT max(number) + 1 AS number FROM frames")[0]!["number"] as number;
    editRows(
      home,
      "INSERT INTO frames SELECT ?, ?, ?, head FROM frames WHERE number = ?",
      copy,
      end.last + 1,
      end.last + 1 + last - first,
      number,
    );
    editRows(
      home,
      "INSERT INTO payloads SELECT place + 8 * ?, bytes FROM payloads WHERE place >= 8 * ?2 AND place < 8 * ?2 + 8",
      copy - number,
      number,
    );
    expect((await faultsOf(home))[0]!.seq).toBe(end.last + 1);
  });

  test("shows two frames that changed places", async () => {
    const home = copyHome();
    const frames = framesOf(home);
    const length = ({ first, last }: Frame) => last - first;
    const at = frames.findIndex((frame, index) => index > 0 && length(frame) === length(frames[index - 1]!));
    const [one, other] = [frames[at - 1]!, frames[at]!];
    const move = "UPDATE frames SET first_event = ?, last_event = ? WHERE number = ?";
    editRows(home, move, other.first, other.last, one.number);
    editRows(home, move, one.first, one.last, other.number);
    expect((await faultsOf(home))[0]!.seq).toBe(one.first);
  });

  test("shows a tail that was cut, also when the database no longer knows of it", async () => {
    const home = copyHome();
    const cut = framesOf(home).at(-3)!;
    editRows(home, "DELETE FROM frames WHERE number >= ?", cut.number);
    editRows(home, "DELETE FROM payloads WHERE place >= 8 * ?", cut.number);
    editRows(home, "DELETE FROM audit_marks WHERE audit = 'head'");
    editRows(home, "UPDATE tallies SET value = ? WHERE name = 'event_seq'", cut.first - 1);
    expect(await faultsOf(home)).toEqual([
      { seq: cut.first, what: expect.stringMatching(/^the tail was cut/) },
    ]);
  });
});
