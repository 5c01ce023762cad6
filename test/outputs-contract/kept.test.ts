import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SmallOutput } from "../../src/core/jobs/small-output.ts";
import { FolderOutputs } from "../../src/output/folder/folder-outputs.ts";
import { KeptOutputs } from "../../src/output/kept-outputs.ts";
import type { Outputs, ReadableOutputs } from "../../src/output/outputs.ts";
import { describeOutputs } from "./describe-outputs.ts";

/** What the store knows; test/store-contract checks how it comes there. */
let small: SmallOutput | null = null;
const store = { getSmallOutput: async () => small };
const jobId = "0198c0de-0000-7000-8000-abcdef012345";
const stdout = { jobId, attempt: 1, stream: "stdout" } as const;
const { signal } = new AbortController();

function createPlace() {
  const root = mkdtempSync(join(tmpdir(), "writ-outputs-"));
  return {
    open: () => new KeptOutputs(new FolderOutputs(root), store),
    openWhole: () => wholeOf(new KeptOutputs(new FolderOutputs(root), store)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The outputs as the contract expects them: read through both, everything else in the driver. */
function wholeOf(kept: KeptOutputs): Outputs {
  const read: ReadableOutputs = {
    sizes: (attempt) => kept.sizes(attempt),
    read: (output, range) => kept.read(output, range),
    follow: (output, options) => kept.follow(output, options),
  };
  return new Proxy(kept.appended, {
    get: (appended, name: keyof Outputs) => {
      if (name === "sizes" || name === "read" || name === "follow") return read[name];
      return typeof appended[name] === "function" ? appended[name].bind(appended) : undefined;
    },
  });
}

describeOutputs("a folder beside a store that has none", () => {
  const { openWhole: open, remove } = createPlace();
  return { open, remove };
});

describe("outputs that the store has kept with an end", () => {
  let place: ReturnType<typeof createPlace>;
  let outputs: KeptOutputs;

  beforeEach(() => {
    place = createPlace();
    outputs = place.open();
    small = { stdout: Buffer.from("hello"), stderr: Buffer.from("") };
  });
  afterEach(async () => {
    small = null;
    await outputs.appended.close();
    place.remove();
  });

  test("fail when a read asks for more than there is", async () => {
    await expect(text(outputs.read(stdout, { start: 0, end: 6 }))).rejects.toMatchObject({
      code: "OUTPUT_UNAVAILABLE",
    });
  });

  test("are read in any range like others, and have their sizes", async () => {
    expect(await outputs.sizes(stdout)).toEqual({ stdout: 5, stderr: 0 });
    expect(await outputs.appended.sizes(stdout)).toEqual({ stdout: 0, stderr: 0 });
    expect(await text(outputs.read(stdout, { start: 0, end: 5 }))).toBe("hello");
    expect(await text(outputs.read(stdout, { start: 1, end: 3 }))).toBe("el");
    expect(await text(outputs.read(stdout, { start: 5, end: 5 }))).toBe("");
  });

  test("reach a follower that was there before the end, from its offset on", async () => {
    const kept = small;
    small = null;
    const end = Promise.withResolvers<void>();
    const following = [0, 3, 5].map((offset) =>
      text(outputs.follow(stdout, { offset, ended: () => end.promise, signal })),
    );
    small = kept;
    end.resolve();
    expect(await Promise.all(following)).toEqual(["hello", "lo", ""]);
  });
});

async function text(pieces: AsyncIterable<Buffer>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(pieces)).toString();
}
