import { describe, expect, test } from "vitest";
import { mergeWalks } from "./job-list.ts";

const page = { offset: 0, limit: 3 };

describe("a page from several walks", () => {
  test("has the newest first and continues after its last job", () => {
    const walks = [
      { seqs: [9, 5, 1], lookedTo: null },
      { seqs: [8, 2], lookedTo: null },
    ];
    expect(mergeWalks(walks, page)).toEqual({ seqs: [9, 8, 5], nextBefore: 5 });
    expect(mergeWalks(walks, { offset: 3, limit: 3 })).toEqual({ seqs: [2, 1], nextBefore: null });
  });

  test("ends where one of them gave up, although another has found older jobs", () => {
    const walks = [
      { seqs: [9], lookedTo: 6 },
      { seqs: [8, 2], lookedTo: 1 },
    ];
    expect(mergeWalks(walks, page)).toEqual({ seqs: [9, 8], nextBefore: 6 });
  });

  test("may be empty without being the last", () => {
    expect(mergeWalks([{ seqs: [], lookedTo: 7 }], page)).toEqual({ seqs: [], nextBefore: 7 });
    expect(mergeWalks([{ seqs: [], lookedTo: null }], page)).toEqual({ seqs: [], nextBefore: null });
  });
});
