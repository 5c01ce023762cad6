import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HubServed, ObjectPlace, Objects } from "../../src/objects/objects.ts";
import { sha256Hex } from "../../src/signing/mac.ts";

/** A place for files whose bytes go through the hub. */
export type ObjectsUnderTest = { open(): Objects & HubServed; remove(): void };

const place: ObjectPlace = {
  id: "0198c0de-0000-7000-8000-abcdef012345",
  tenantId: "acme",
  folderId: "results",
  objectKey: "runs/1/a.txt",
  storeUpload: null,
};
const text = Buffer.from("forty-two");

/** Everything that a driver promises whose bytes go through the hub. */
export function describeHubServed(name: string, create: () => ObjectsUnderTest): void {
  let under: ObjectsUnderTest;
  let objects: Objects & HubServed;

  beforeEach(() => {
    under = create();
    objects = under.open();
  });
  afterEach(async () => {
    await objects.close();
    under.remove();
  });

  const receive = (bytes: Uint8Array, { offset = 0, total = text.length, at = place } = {}) =>
    objects.receive(at, { offset, total, bytes: () => pieces([bytes]) });
  const read = async (start: number, end: number, at = place) => {
    const read: Buffer[] = [];
    for await (const piece of objects.read(at, { start, end })) read.push(piece);
    return Buffer.concat(read);
  };

  describe(`files in ${name}`, () => {
    test("a place that has nothing has size 0, cannot be read, and can be removed", async () => {
      expect(await objects.sizeOf(place)).toBe(0);
      await expect(read(0, 1)).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
      await objects.remove(place);
    });

    test("more bytes than were announced are refused", async () => {
      await expect(receive(text, { total: 4 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    });

    test("another offset than what has arrived is refused and says how much that is", async () => {
      await receive(text.subarray(0, 4));
      for (const offset of [1, 5]) {
        await expect(receive(text.subarray(offset), { offset })).rejects.toMatchObject({
          code: "UPLOAD_OFFSET",
          details: { size: 4 },
        });
      }
      expect(await objects.sizeOf(place)).toBe(4);
    });

    test("bytes that came at once, in parts or again from the start have the same hash", async () => {
      const whole = { size: text.length, sha256: sha256Hex(text) };
      expect(await receive(text)).toEqual(whole);
      const second = { ...place, id: `${place.id.slice(0, -1)}6` };
      expect(await receive(text.subarray(0, 4), { at: second })).toEqual({ size: 4, sha256: null });
      expect(await receive(text.subarray(4), { at: second, offset: 4 })).toEqual(whole);
      expect(await receive(text, { at: second })).toEqual(whole);
      for (const at of [place, second]) expect((await read(0, 9, at)).toString()).toBe("forty-two");
      expect((await read(3, 7)).toString()).toBe("ty-t");
    });

    test("keys that look like files and folders of each other do not disturb each other", async () => {
      const below = { ...place, id: `${place.id.slice(0, -1)}7`, objectKey: `${place.objectKey}/below` };
      await receive(text);
      await receive(Buffer.from("something"), { at: below });
      await objects.remove(below);
      expect((await read(0, 9)).toString()).toBe("forty-two");
    });

    test("a sender that breaks off leaves what has arrived, to be continued by another hub", async () => {
      const broken = objects.receive(place, {
        offset: 0,
        total: 9,
        bytes: () => pieces([text.subarray(0, 4)], new Error("cut")),
      });
      await expect(broken).rejects.toThrow("cut");
      const neighbour = under.open();
      expect(await neighbour.sizeOf(place)).toBe(4);
      const rest = { offset: 4, total: 9, bytes: () => pieces([text.subarray(4)]) };
      expect(await neighbour.receive(place, rest)).toMatchObject({ sha256: sha256Hex(text) });
      await neighbour.close();
    });

    test("a newer request ends an older one that is silent, and continues after it", async () => {
      const begun = Promise.withResolvers<void>();
      const older = objects.receive(place, {
        offset: 0,
        total: 9,
        bytes: (signal) => thenSilent(text.subarray(0, 4), signal, begun.resolve),
      });
      const failed = expect(older).rejects.toThrow("replaced");
      await begun.promise;
      expect(await receive(text.subarray(4), { offset: 4 })).toMatchObject({ sha256: sha256Hex(text) });
      await failed;
    });

    test("a large file is the same after it came in many pieces", async () => {
      const part = randomBytes(100_003);
      const all = Buffer.concat(Array(30).fill(part));
      const upload = { offset: 0, total: all.length, bytes: () => pieces(Array(30).fill(part)) };
      expect(await objects.receive(place, upload)).toEqual({ size: all.length, sha256: sha256Hex(all) });
      expect(sha256Hex(await read(0, all.length))).toBe(sha256Hex(all));
      await objects.remove(place);
      expect(await objects.sizeOf(place)).toBe(0);
    });
  });
}

async function* pieces(all: Uint8Array[], failure?: Error): AsyncGenerator<Uint8Array> {
  yield* all;
  if (failure !== undefined) throw failure;
}

/** One piece, and then nothing until somebody ends it. */
async function* thenSilent(
  piece: Uint8Array,
  signal: AbortSignal,
  onSilent: () => void,
): AsyncGenerator<Uint8Array> {
  yield piece;
  const over = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => over.reject(new Error("replaced")), { once: true });
  onSilent();
  await over.promise;
}
