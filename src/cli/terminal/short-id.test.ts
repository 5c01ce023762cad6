import { expect, test } from "vitest";
import { jobIdNumber } from "../../client/testing/tiny-hub.ts";
import { resolveJobId, shortId } from "./short-id.ts";

const ids = [jobIdNumber(0xabcdef01), jobIdNumber(0x12cdef01), "0f000000-0000-4000-8000-000000000777"];
const writ = { findIds: async () => ids };
const neverAsked = {
  findIds: async (): Promise<never> => {
    throw new Error("must not be asked");
  },
};

test.each(["", "12345", "nothex-nothex", "0f000000-0000-4000-8000-0000000007770"])(
  "%j is not an id",
  async (text) => {
    await expect(resolveJobId(neverAsked, text)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  },
);

test("an end that several share is refused with the list of them", async () => {
  await expect(resolveJobId(writ, "cdef01")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    details: { list: `\n  ${ids[0]}\n  ${ids[1]}` },
  });
});

test("a start that no id has is not found", async () => {
  await expect(resolveJobId(writ, "ffffffff")).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("fewer than 8 characters are not taken for the start of an id", async () => {
  await expect(resolveJobId(writ, "0f00000")).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test.each([
  ["0f000000", ids[2]],
  ["abcdef01", ids[0]],
  ["ABCDEF01", ids[0]],
  ["000777", ids[2]],
])("%s is enough", async (part, id) => {
  expect(await resolveJobId(writ, part)).toBe(id);
});

test("a whole id is taken without asking the hub", async () => {
  expect(await resolveJobId(neverAsked, ids[0]!)).toBe(ids[0]);
});

test("what tables show can be given back", async () => {
  expect(await resolveJobId(writ, shortId(ids[2]!))).toBe(ids[2]);
});
