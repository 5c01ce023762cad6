import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { copyMasked } from "./masked-copy.ts";

let folder: string;
let file: FileHandle;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "writ-masked-"));
  file = await open(join(folder, "stdout"), "a");
});
afterEach(async () => {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});

test("what may be the beginning of a secret is masked when the rest was cut off", async () => {
  const source = new PassThrough();
  const copy = copyMasked(source, file, ["hunter22"]);
  source.write("ready: hunter2");
  await untilWritten("ready: ");
  source.destroy();
  await copy.finish();
  expect(written()).toBe("ready: *******");
});

test("what looked like the beginning of a secret is kept when the output ended there", async () => {
  const source = new PassThrough();
  const copy = copyMasked(source, file, ["hunter22"]);
  source.end("ready: hunter2");
  await copy.finish();
  expect(written()).toBe("ready: hunter2");
});

test("a file that cannot be written or closed ends the copy without an error", async () => {
  const source = new PassThrough();
  const broken = {
    writeFile: () => Promise.reject(new Error("ENOSPC")),
    close: () => Promise.reject(new Error("EIO")),
  } as unknown as FileHandle;
  const copy = copyMasked(source, broken, ["hunter22"]);
  source.write("ready");
  await copy.finish();
  expect(source.destroyed).toBe(true);
});

function written(): string {
  return readFileSync(join(folder, "stdout"), "utf8");
}

async function untilWritten(text: string): Promise<void> {
  await expect.poll(written, { timeout: 10_000 }).toBe(text);
}
