import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isPartOfHome, packFiles, unpackFiles } from "./archive.ts";

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-archive-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function* one(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

test.each([
  "",
  "/etc/passwd",
  "../keys/mac.key",
  "keys",
  "keys/",
  "keys/../../x",
  "keys/./x",
  "keys//x",
  "keys/.hidden",
  "keys/a\0b",
  "keys/a\nb",
  "outputs/x",
  "hub.json",
  7,
])("%j is not part of a home", (path) => expect(isPartOfHome(path)).toBe(false));

test.each([
  "writ.sqlite",
  "keys/mac.key",
  "certs/a.person@example.org/client.key",
  "worker/worker/worker.key",
])("%s is part of a home", (path) => expect(isPartOfHome(path)).toBe(true));

test.each([
  ["a path that leads outside", '{"path":"../x","size":1}\nx{"files":1}\n', "not part of a home"],
  ["a size that is none", '{"path":"writ.yaml","size":-1}\n{"files":1}\n', "not part of a home"],
  ["a file that is cut off", '{"path":"writ.yaml","size":5}\nabc', "cut off"],
  ["a missing end", '{"path":"writ.yaml","size":1}\nx', "damaged"],
  ["a missing file", '{"path":"writ.yaml","size":1}\nx{"files":2}\n', "files are missing"],
  ["more after the end", '{"files":0}\n{"files":0}\n', "files are missing"],
])("%s is refused", async (_, text, message) => {
  const dir = folder();
  await expect(unpackFiles(one(text), join(dir, "home"))).rejects.toThrow(message);
  expect(readdirSync(dir).filter((name) => name !== "home")).toEqual([]);
});

test("unpacked files are equal to the packed ones, including empty ones, and private", async () => {
  const dir = folder();
  const files = [
    { path: "writ.yaml", content: Buffer.from("port: 0\n") },
    { path: "admin.token", content: Buffer.from("") },
    { path: "keys/here", file: import.meta.filename },
  ];
  expect(await unpackFiles(packFiles(files), dir)).toEqual(["writ.yaml", "admin.token", "keys/here"]);
  expect(readFileSync(join(dir, "writ.yaml"), "utf8")).toBe("port: 0\n");
  expect(readFileSync(join(dir, "admin.token"), "utf8")).toBe("");
  expect(readFileSync(join(dir, "keys/here"), "utf8")).toBe(readFileSync(import.meta.filename, "utf8"));
  expect(statSync(join(dir, "keys/here")).mode & 0o777).toBe(0o600);
});
