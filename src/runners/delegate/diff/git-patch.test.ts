import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { gitPatch, type Side } from "./git-patch.ts";

const file = (text: string | Buffer, mode: "100644" | "100755" = "100644"): Side => ({
  mode,
  bytes: Buffer.from(text),
});
const link = (target: string): Side => ({ mode: "120000", bytes: Buffer.from(target) });

type Case = { path: string; before: Side; after: Side };

/** Lets git apply the patch to a fresh folder, and says what is there then. */
function applied(cases: readonly Case[]): (Side | "other")[] {
  const dir = mkdtempSync(join(tmpdir(), "writ-patch-"));
  try {
    for (const { path, before } of cases) put(join(dir, path), before);
    const patch = Buffer.concat(cases.map(({ path, before, after }) => gitPatch(path, before, after)));
    if (patch.length > 0)
      execFileSync("git", ["apply", "--whitespace=nowarn", "-"], {
        cwd: dir,
        input: patch,
        stdio: "pipe",
      });
    return cases.map(({ path }) => look(join(dir, path)));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function put(path: string, side: Side): void {
  if (side === null) return;
  mkdirSync(dirname(path), { recursive: true });
  if (side.mode === "120000") symlinkSync(side.bytes.toString(), path);
  else writeFileSync(path, side.bytes, { mode: side.mode === "100755" ? 0o755 : 0o644 });
}

function look(path: string): Side {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return null;
  if (status.isSymbolicLink()) return link(readlinkSync(path));
  return file(readFileSync(path), (status.mode & 0o100) === 0 ? "100644" : "100755");
}

const cases: Case[] = [
  { path: "src/a.txt", before: file("one\ntwo\nthree\n"), after: file("one\n2\nthree\n") },
  { path: "new file with spaces.txt", before: null, after: file("hello\n") },
  { path: "gone", before: file("x"), after: null },
  { path: "empty", before: null, after: file("") },
  { path: "emptied", before: file("a\n"), after: file("") },
  { path: "empty-gone", before: file(""), after: null },
  { path: "no-break", before: file("a\nb"), after: file("a\nb\n") },
  { path: "break-lost", before: file("a\nb\n"), after: file("a\nc") },
  { path: "script.sh", before: file("#!/bin/sh\n"), after: file("#!/bin/sh\n", "100755") },
  { path: "script2.sh", before: file("#!/bin/sh\n", "100755"), after: file("#!/bin/bash\n") },
  { path: "image.png", before: file(Buffer.from([0, 1, 2, 255])), after: file(Buffer.from([0, 3, 254])) },
  { path: "new.bin", before: null, after: file(Buffer.alloc(500, 0)) },
  { path: "gone.bin", before: file(Buffer.from([0, 0, 7])), after: null },
  { path: "link", before: link("src/a.txt"), after: link("no-break") },
  { path: "becomes-link", before: file("x\n"), after: link("src") },
  { path: 'tab\t"quote".txt', before: file("a\n"), after: file("b\n") },
  { path: "größe/naïve 中.txt", before: null, after: file("ü\r\n") },
  {
    path: "latin1",
    before: file(Buffer.from("caf\xe9\n", "latin1")),
    after: file(Buffer.from("caf\xe8\n", "latin1")),
  },
];

test.each(cases)("git applies a patch of $path", (one) => {
  expect(applied([one])).toEqual([one.after]);
});

test("git applies many files at once", () => {
  expect(applied(cases)).toEqual(cases.map(({ after }) => after));
});

test("a change shows only the lines around it", () => {
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index}\n`);
  const after = lines.with(5, "changed\n").with(30, "changed too\n");
  const text = gitPatch("a", file(lines.join("")), file(after.join(""))).toString();
  expect(text.match(/^@@ .* @@$/gm)).toEqual(["@@ -3,7 +3,7 @@", "@@ -28,7 +28,7 @@"]);
});

test("git applies any change, and a text that has changed completely", () => {
  const line = fc.constantFrom("a\n", "b\n", "c\n", "d\n", "\n", "long line\n");
  const text = fc.tuple(fc.array(line, { maxLength: 40 }), fc.constantFrom("", "end"));
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 20 }), (pairs) => {
      const many = pairs.map(([[old, oldEnd], [now, nowEnd]], index) => ({
        path: `f${index}`,
        before: file(old.join("") + oldEnd),
        after: file(now.join("") + nowEnd),
      }));
      expect(applied(many)).toEqual(many.map(({ after }) => after));
    }),
    { numRuns: 20 },
  );
  const numbers = (add: number): Side =>
    file(Array.from({ length: 5000 }, (_, index) => `${index * 7 + add}\n`).join(""));
  expect(applied([{ path: "big", before: numbers(0), after: numbers(3) }])).toEqual([numbers(3)]);
});
