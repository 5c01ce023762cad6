import { describe, expect, it } from "vitest";
import { ClaimFloors, type Position } from "./claim-floors.ts";

const queueId = 1;
const at = (seq: number, rank = -5): Position => ({ rank, seq });
const all = () => true;

/** A claim that reads these jobs from where it may begin, and takes those up to a number. */
function claim(floors: ClaimFloors, seqs: number[], takenThrough: number, nowMs = 0): number | null {
  const reading = floors.read(nowMs);
  const begun = reading.beginAt(queueId);
  reading.found(
    queueId,
    seqs.map((seq) => at(seq)),
  );
  reading.end((seq) => seq <= takenThrough);
  return begun?.seq ?? null;
}

const beginning = (floors: ClaimFloors, nowMs = 0) => floors.read(nowMs).beginAt(queueId);

describe("the floor of a queue", () => {
  it("is not there before its queue was read", () => {
    expect(beginning(new ClaimFloors())).toBeNull();
  });

  it("is the last job that was taken, or the first that was left", () => {
    const floors = new ClaimFloors();
    expect(claim(floors, [1, 2, 3], 3)).toBeNull();
    expect(claim(floors, [4, 5], 4)).toBe(3);
    expect(beginning(floors)).toMatchObject(at(5));
  });

  it("falls to a better job, and to one that is given back", () => {
    const floors = new ClaimFloors();
    claim(floors, [1, 2, 3], 3);
    floors.came(queueId, at(9));
    expect(beginning(floors)).toMatchObject(at(3));
    floors.came(queueId, at(2));
    expect(beginning(floors)).toMatchObject(at(2));
    floors.came(queueId, at(20, -9));
    expect(beginning(floors)).toMatchObject(at(20, -9));
  });

  it("stays below a job that came while others were read and had a lower number", () => {
    const floors = new ClaimFloors();
    const reading = floors.read(0);
    reading.beginAt(queueId);
    floors.came(queueId, at(2));
    reading.found(queueId, [at(1), at(3)]);
    reading.end(all);
    expect(beginning(floors)).toMatchObject(at(2));
  });

  it("falls to what another transaction had locked and left", () => {
    const floors = new ClaimFloors();
    const slow = floors.read(0);
    slow.beginAt(queueId);
    slow.found(queueId, [at(1), at(2), at(3)]);
    claim(floors, [4, 5], 5);
    slow.end((seq) => seq === 1);
    expect(beginning(floors)).toMatchObject(at(2));
  });

  it("is forgotten after a second, and when a transaction failed", () => {
    const floors = new ClaimFloors();
    claim(floors, [1], 1, 5_000);
    expect(beginning(floors, 5_999)).toMatchObject(at(1));
    expect(beginning(floors, 6_000)).toBeNull();
    expect(beginning(floors, 4_000)).toBeNull();
    floors.clear();
    expect(beginning(floors, 5_000)).toBeNull();
  });

  it("is no longer exact once others have written, and forgotten sooner", () => {
    const floors = new ClaimFloors();
    claim(floors, [1], 1);
    const reading = floors.read(50);
    reading.beginAt(queueId);
    expect(reading.isExact(queueId)).toBe(true);
    floors.noteForeign();
    expect(reading.isExact(queueId)).toBe(false);
    expect(beginning(floors, 99)).toMatchObject(at(1));
    expect(beginning(floors, 100)).toBeNull();
  });

  it("is not set by a transaction that began before all floors were forgotten", () => {
    const floors = new ClaimFloors();
    const reading = floors.read(0);
    reading.beginAt(queueId);
    reading.found(queueId, [at(1)]);
    floors.clear();
    reading.end(all);
    expect(beginning(floors)).toBeNull();
  });
});
