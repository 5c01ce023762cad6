import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HubServed, ObjectPlace, Objects } from "../../src/objects/objects.ts";
import { sha256Hex } from "../../src/signing/mac.ts";

/** A place for files whose bytes go through the hub. */
export type ObjectsUnderTest = {
  open(): Objects & HubServed;
  /** Everything that is stored, complete or not. */
  files(): string[];
  remove(): void;
};

const place: ObjectPlace = {
  id: "0198c0de-0000-7000-8000-abcdef012345",
  tenantId: "acme",
  folderId: "results",
  objectKey: "runs/1/a.txt",
  storeUpload: null,
  storedAs: null,
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
    objects.receive(at, { offset, total, sha256: null, bytes: () => pieces([bytes]) });
  /** An arrival that gives one piece and goes on when it is told to. */
  const slow = (sent: Uint8Array, sha256: string | null = null) => {
    const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const bytes = (signal: AbortSignal) => halves(sent, { signal, begun: begun.resolve, go: go.promise });
    const arrived = objects.receive(place, { offset: 0, total: sent.length, sha256, bytes });
    arrived.catch(() => {});
    return { begun: begun.promise, go: go.resolve, cut: go.reject, arrived };
  };
  const read = async (start: number, end: number, at: ObjectPlace) => {
    const read: Buffer[] = [];
    for await (const piece of objects.read(at, { start, end })) read.push(piece);
    return Buffer.concat(read);
  };

  describe(`files in ${name}`, () => {
    test("a place that has nothing has no bytes, cannot be read, and can be removed", async () => {
      expect(await objects.arrivedBytes(place)).toBe(0);
      await expect(read(0, 1, { ...place, storedAs: "x" })).rejects.toMatchObject({
        code: "FILES_UNAVAILABLE",
      });
      await objects.tidy(place);
      await objects.remove(place);
    });

    test("more bytes than were announced are refused, and nothing of them stays", async () => {
      await expect(receive(text, { total: 4 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(await objects.arrivedBytes(place)).toBe(0);
    });

    test("bytes with another hash than announced are refused, and nothing of them stays", async () => {
      const upload = { offset: 0, total: 9, sha256: sha256Hex("forty-one"), bytes: () => pieces([text]) };
      await expect(objects.receive(place, upload)).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
      expect(under.files()).toEqual([]);
    });

    test("another offset than what has arrived is refused and says how much that is", async () => {
      await receive(text.subarray(0, 4));
      for (const offset of [1, 5]) {
        await expect(receive(text.subarray(offset), { offset })).rejects.toMatchObject({
          code: "UPLOAD_OFFSET",
          details: { size: 4 },
        });
      }
      expect(await objects.arrivedBytes(place)).toBe(4);
    });

    test("bytes that came at once or in parts have the same hash", async () => {
      const whole = { size: text.length, sha256: sha256Hex(text) };
      const first = await receive(text);
      expect(first).toMatchObject(whole);
      const second = { ...place, id: `${place.id.slice(0, -1)}6` };
      expect(await receive(text.subarray(0, 4), { at: second })).toMatchObject({ size: 4, sha256: null });
      const { storedAs, ...facts } = await receive(text.subarray(4), { at: second, offset: 4 });
      expect(facts).toEqual(whole);
      const at = { ...place, storedAs: first.storedAs };
      for (const file of [at, { ...second, storedAs }])
        expect((await read(0, 9, file)).toString()).toBe("forty-two");
      expect((await read(3, 7, at)).toString()).toBe("ty-t");
      expect(await objects.has(at, 9)).toBe(true);
      expect(await objects.has({ ...place, storedAs: "x" }, 0)).toBe(false);
    });

    test("keys that look like files and folders of each other do not disturb each other", async () => {
      const below = { ...place, id: `${place.id.slice(0, -1)}7`, objectKey: `${place.objectKey}/below` };
      const { storedAs } = await receive(text);
      await receive(Buffer.from("something"), { at: below });
      await objects.remove(below);
      expect((await read(0, 9, { ...place, storedAs })).toString()).toBe("forty-two");
    });

    test("a sender that breaks off leaves what has arrived, to be continued by another hub", async () => {
      const sent = slow(text);
      await sent.begun;
      sent.cut(new Error("cut"));
      await expect(sent.arrived).rejects.toThrow("cut");
      const neighbour = under.open();
      expect(await neighbour.arrivedBytes(place)).toBe(4);
      const rest = { offset: 4, total: 9, sha256: null, bytes: () => pieces([text.subarray(4)]) };
      expect(await neighbour.receive(place, rest)).toMatchObject({ sha256: sha256Hex(text) });
      await neighbour.close();
    });

    test("a sender that continues ends its older request, which is silent", async () => {
      const older = slow(text);
      await older.begun;
      expect(await receive(text.subarray(4), { offset: 4 })).toMatchObject({ sha256: sha256Hex(text) });
      await expect(older.arrived).rejects.toThrow("ended");
    });

    test("O-01: uploads at the same time do not disturb each other, in any order", async () => {
      const other = Buffer.from("forty-one");
      const [a, b] = [slow(text), slow(other)];
      await Promise.all([a.begun, b.begun]);
      b.go();
      const second = await b.arrived;
      a.go();
      const first = await a.arrived;
      expect([first.sha256, second.sha256]).toEqual([sha256Hex(text), sha256Hex(other)]);
      const stored = (storedAs: string) => read(0, 9, { ...place, storedAs });
      expect((await stored(first.storedAs)).toString()).toBe("forty-two");
      expect((await stored(second.storedAs)).toString()).toBe("forty-one");
    });

    test("O-01: what is cut, is wrong or begins again does not touch what is complete", async () => {
      const file = { ...place, storedAs: (await receive(text)).storedAs };
      const wrong = { offset: 0, total: 9, sha256: sha256Hex(text), bytes: () => pieces([Buffer.alloc(9)]) };
      await expect(objects.receive(place, wrong)).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
      const cut = slow(Buffer.from("forty-one"));
      await cut.begun;
      cut.cut(new Error("cut"));
      await expect(cut.arrived).rejects.toThrow("cut");
      await receive(Buffer.from("other"), { total: 5 });
      expect((await read(0, 9, file)).toString()).toBe("forty-two");
    });

    test("O-01: of many that begin again, two are there at the same time, and what they left is given up", async () => {
      const [a, b] = [slow(text), slow(text)];
      await Promise.all([a.begun, b.begun]);
      const c = slow(text);
      await expect(a.arrived).rejects.toThrow("ended");
      await c.begun;
      expect(under.files()).toHaveLength(2);
      b.go();
      c.go();
      for (const one of [b, c]) expect(await one.arrived).toMatchObject({ sha256: sha256Hex(text) });
    });

    test("O-01: tidying leaves the file and what is still arriving, and nothing of a hub that was killed", async () => {
      const killed = under.open();
      const left = { offset: 0, total: 9, sha256: null, bytes: () => pieces([text.subarray(0, 4)]) };
      await killed.receive(place, left);
      await killed.receive(place, { ...left, bytes: () => pieces([text]) });
      const { storedAs } = await receive(text);
      const arriving = slow(text);
      await arriving.begun;
      await objects.tidy({ ...place, storedAs });
      expect(under.files()).toHaveLength(2);
      arriving.go();
      await arriving.arrived;
      await objects.tidy({ ...place, storedAs });
      expect(under.files().map((path) => path.split("/").at(-1))).toEqual([storedAs]);
      expect((await read(0, 9, { ...place, storedAs })).toString()).toBe("forty-two");
      await objects.remove({ ...place, storedAs });
      expect(under.files()).toEqual([]);
    });

    test("a large file is the same after it came in many pieces", async () => {
      const part = randomBytes(100_003);
      const all = Buffer.concat(Array(30).fill(part));
      const bytes = () => pieces(Array(30).fill(part));
      const upload = { offset: 0, total: all.length, sha256: sha256Hex(all), bytes };
      const { storedAs, ...facts } = await objects.receive(place, upload);
      expect(facts).toEqual({ size: all.length, sha256: sha256Hex(all) });
      expect(sha256Hex(await read(0, all.length, { ...place, storedAs }))).toBe(sha256Hex(all));
    });
  });
}

async function* pieces(all: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}

type Pace = { signal: AbortSignal; begun: () => void; go: Promise<void> };

/** Four bytes, and the others when it may go on, unless somebody ends it. */
async function* halves(all: Uint8Array, { signal, begun, go }: Pace): AsyncGenerator<Uint8Array> {
  yield all.subarray(0, 4);
  const over = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => over.reject(new Error("ended")), { once: true });
  begun();
  await Promise.race([go, over.promise]);
  yield all.subarray(4);
}
