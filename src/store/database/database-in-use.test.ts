import { expect, test } from "vitest";
import { DatabaseInUse, type FoundDatabase } from "./database-in-use.ts";

const found = (lastSeq: number, others: Partial<FoundDatabase> = {}): FoundDatabase => ({
  id: "own",
  lastSeq,
  record: null,
  isCopy: false,
  ...others,
});

async function inUseAt(lastSeq: number): Promise<DatabaseInUse> {
  const inUse = new DatabaseInUse();
  expect(inUse.isOpen).toBe(false);
  await inUse.compare(async () => found(lastSeq));
  expect(inUse.isOpen).toBe(true);
  return inUse;
}

const event = { ts: 5, event: "JOB_CREATED", job_id: "j1" };

test.each([
  ["an empty one", null, "is empty now"],
  ["another one", found(9, { id: "other" }), "is not the one that this hub uses"],
  ["an older one", found(6), "it ends at record 6, and this hub knows record 7"],
  ["one that took another course", found(9, { record: "6 JOB_CREATED j2" }), "record 7 is another one"],
])("%s is lost, and what is open is given up", async (_, seen, reason) => {
  const inUse = await inUseAt(6);
  inUse.wrote(7, event);
  let ended = 0;
  inUse.onOther(() => ended++);
  await expect(inUse.compare(async () => seen)).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining(reason),
    details: { away: true, lost: expect.any(String) },
  });
  expect(ended).toBe(1);
  const right = found(7, { record: "5 JOB_CREATED j1" });
  expect(await inUse.compare(async () => right)).toEqual({ id: "own", lastSeq: 7 });
});

test("a copy that follows another server may still receive what it lacks", async () => {
  const inUse = await inUseAt(6);
  inUse.onOther(() => expect.unreachable("nothing is given up"));
  const late = inUse.compare(async () => found(5, { isCopy: true }));
  await expect(late).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", details: { away: true } });
  await expect(late).rejects.not.toHaveProperty("details.lost");
});

test("what is written while the database is read counts the next time", async () => {
  const inUse = await inUseAt(6);
  const read = async (): Promise<FoundDatabase> => {
    inUse.wrote(7, event);
    return found(6);
  };
  expect(await inUse.compare(read)).toEqual({ id: "own", lastSeq: 6 });
  await expect(inUse.compare(async () => found(6))).rejects.toThrow("this hub knows record 7");
});

test("a later event of another connection is not forgotten for an earlier one", async () => {
  const inUse = await inUseAt(6);
  inUse.wrote(9, event);
  inUse.wrote(8, { ...event, ts: 4 });
  inUse.wrote(9, undefined);
  await inUse.compare(async (recordSeq) => found(9, { record: recordSeq === 9 ? "5 JOB_CREATED j1" : "?" }));
});
