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

test("a possible beginning of a secret is masked when the rest was cut off", async () => {
  const source = new PassThrough();
  const copy = copyMasked(source, file, ["hunter22"]);
  source.write("ready: hunter2");
  await untilWritten("ready: ");
  source.destroy();
  await copy.finish();
  expect(written()).toBe("ready: *******");
});

test("a possible beginning of a secret is kept when the output ended there", async () => {
  const source = new PassThrough();
  const copy = copyMasked(source, file, ["hunter22"]);
  source.end("ready: hunter2");
  expect(await copy.finish()).toBe(null);
  expect(written()).toBe("ready: hunter2");
});

test("a file that cannot be written or closed ends the copy with the reason", async () => {
  const refuse = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
  const source = new PassThrough();
  const full = { writeFile: refuse("ENOSPC"), close: refuse("EIO") } as unknown as FileHandle;
  const copy = copyMasked(source, full, ["hunter22"]);
  source.write("ready");
  expect(await copy.finish()).toBe("ENOSPC");
  expect(source.destroyed).toBe(true);
  const unclosed = { writeFile: async () => {}, close: refuse("EIO") } as unknown as FileHandle;
  expect(await copyMasked(new PassThrough().end("ready"), unclosed, []).finish()).toBe("EIO");
});

function written(): string {
  return readFileSync(join(folder, "stdout"), "utf8");
}

async function untilWritten(text: string): Promise<void> {
  await expect.poll(written, { timeout: 10_000 }).toBe(text);
}
