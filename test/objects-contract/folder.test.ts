import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FolderObjects } from "../../src/objects/folder/folder-objects.ts";
import { describeHubServed } from "./describe-hub-served.ts";

describeHubServed("a folder", () => {
  const root = mkdtempSync(join(tmpdir(), "writ-objects-"));
  return {
    open: () => new FolderObjects(root),
    files: () =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map(({ parentPath, name }) => join(parentPath, name)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
});

test("a file of version 0.1, and one that had not ended arriving, are where that version put them", async () => {
  const root = mkdtempSync(join(tmpdir(), "writ-objects-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [tenantId, folderId] = ["acme", "results"];
  const place = { id: "0198-45", tenantId, folderId, objectKey: "a", storeUpload: null, storedAs: null };
  mkdirSync(join(root, tenantId, folderId, "45"), { recursive: true });
  writeFileSync(join(root, tenantId, folderId, "45", place.id), "forty");
  const objects = new FolderObjects(root);
  expect(await objects.has(place, 5)).toBe(true);
  expect(Buffer.concat(await Array.fromAsync(objects.read(place, { start: 0, end: 5 }))).toString()).toBe(
    "forty",
  );
  expect(await objects.arrivedBytes(place)).toBe(0);
  const bytes = async function* () {
    yield Buffer.from("forty-two");
  };
  const upload = { offset: 0, total: 9, sha256: null, bytes };
  const { storedAs } = await objects.receive(place, upload);
  expect(await objects.has({ ...place, storedAs }, 9)).toBe(true);
  await objects.remove(place);
  expect(readdirSync(join(root, tenantId, folderId, "45"))).toEqual([]);
});
