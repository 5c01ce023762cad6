import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { followFiles } from "./follow-files.ts";

function open() {
  const folder = mkdtempSync(join(tmpdir(), "writ-follow-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [file, other] = [join(folder, "a"), join(folder, "b")];
  writeFileSync(file, "1");
  const scene = { folder, file, other, taken: 0, refused: [] as unknown[], fault: null as Error | null };
  const look = followFiles({
    files: () => [file, other],
    async take() {
      if (scene.fault !== null) throw scene.fault;
      scene.taken++;
    },
    onRefused: (error) => scene.refused.push(error),
  });
  return Object.assign(scene, { look });
}

test("refused files are reported once, at the second check, and again when they have changed", async () => {
  const scene = open();
  scene.fault = new Error("broken");
  await scene.look();
  expect(scene.refused).toHaveLength(0);
  for (let i = 0; i < 5; i++) await scene.look();
  expect(scene.refused).toEqual([scene.fault]);
  writeFileSync(scene.file, "22");
  for (let i = 0; i < 5; i++) await scene.look();
  expect(scene.refused).toHaveLength(2);
});

test("files that are complete by the second check are loaded, and nothing is reported", async () => {
  const scene = open();
  scene.fault = new Error("half of a new pair");
  await scene.look();
  scene.fault = null;
  writeFileSync(scene.other, "1");
  await scene.look();
  expect(scene).toMatchObject({ taken: 1, refused: [] });
});

test("files are loaded once, and again when they were written, replaced, removed, linked or opened to others", async () => {
  const scene = open();
  const { file, other } = scene;
  const fresh = join(scene.folder, "fresh");
  writeFileSync(fresh, "33");
  const changes = [
    () => {},
    () => writeFileSync(file, "22"),
    () => renameSync(fresh, file),
    () => chmodSync(file, 0o600),
    () => symlinkSync(file, other),
    () => rmSync(other),
    () => rmSync(file),
  ];
  for (const [index, change] of changes.entries()) {
    change();
    await scene.look();
    await scene.look();
    expect(scene.taken, `change ${index}`).toBe(index + 1);
  }
});
