import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { addRevocations, RevocationList } from "./revocations.ts";

function open(): { path: string; list: RevocationList } {
  const folder = mkdtempSync(join(tmpdir(), "writ-revoked-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "revoked.json");
  return { path, list: new RevocationList(path) };
}

const entry = (serial: string) => ({ serial, user: null, revoked_at: 0 });

test("while the list cannot be read, every certificate is refused", () => {
  const { path, list } = open();
  for (const text of [
    "",
    "[]",
    '{"revoked":[{"serial":"zz","user":null,"revoked_at":0}]}',
    '{"revoked":[]}x',
  ]) {
    writeFileSync(path, text);
    for (let asked = 0; asked < 2; asked++) expect(() => list.has("1")).toThrow("restore it");
  }
  writeFileSync(path, '{"revoked":[]}');
  expect(list.has("1")).toBe(false);
});

test("an added serial is revoked at the next check, in every spelling", async () => {
  const { path, list } = open();
  expect(list.has("AB12")).toBe(false);
  await addRevocations(path, [entry("AB12")]);
  for (const spelling of ["AB12", "ab12", "00AB12", "AB:12"]) expect(list.has(spelling)).toBe(true);
  expect(list.has("AB1")).toBe(false);
  await addRevocations(path, [entry("C3")]);
  expect([list.has("C3"), list.has("AB12")]).toEqual([true, true]);
});

test("a list that was removed revokes nothing", async () => {
  const { path, list } = open();
  await addRevocations(path, [entry("AB12")]);
  expect(list.has("AB12")).toBe(true);
  rmSync(path);
  expect(list.has("AB12")).toBe(false);
});
