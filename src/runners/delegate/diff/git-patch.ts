import { createHash } from "node:crypto";
import { binaryPatch } from "./binary-patch.ts";
import { hunksOf } from "./hunks.ts";

/** One side of a change: null if the file is not there. */
export type Side = { mode: "100644" | "100755" | "120000"; bytes: Buffer } | null;

/**
 * One file of a diff that `git apply` reads. It is made here and not by git, so that nothing that a repository configures
 * (filters, drivers, hooks) can run, and so that a worker needs no git. Why: ADR 0048.
 */
export function gitPatch(path: string, before: Side, after: Side): Buffer {
  const isOtherKind = before !== null && after !== null && isLink(before) !== isLink(after);
  // git knows no change from a file to a link: one goes and the other comes.
  if (isOtherKind) return Buffer.concat([gitPatch(path, before, null), gitPatch(path, null, after)]);
  if (before !== null && before.mode === after?.mode && before.bytes.equals(after.bytes))
    return Buffer.alloc(0);
  const names = [quoted(`a/${path}`), quoted(`b/${path}`)] as const;
  const head = [`diff --git ${names[0]} ${names[1]}`, ...modeLines(before, after)];
  const [old, now] = [before?.bytes ?? Buffer.alloc(0), after?.bytes ?? Buffer.alloc(0)];
  if (before !== null && after !== null && old.equals(now)) return textOf([...head, ""].join("\n"));
  const mode = before !== null && before.mode === after?.mode ? ` ${before.mode}` : "";
  head.push(`index ${blobId(before)}..${blobId(after)}${mode}`);
  if (old.equals(now)) return textOf([...head, ""].join("\n"));
  if (isBinary(old) || isBinary(now)) return textOf([...head, binaryPatch(old, now)].join("\n"));
  head.push(`--- ${before === null ? "/dev/null" : ended(names[0])}`);
  head.push(`+++ ${after === null ? "/dev/null" : ended(names[1])}`, "");
  const hunks = hunksOf(old.toString("latin1"), now.toString("latin1"));
  return Buffer.concat([textOf(head.join("\n")), Buffer.from(hunks, "latin1")]);
}

function modeLines(before: Side, after: Side): string[] {
  if (before === null) return [`new file mode ${after!.mode}`];
  if (after === null) return [`deleted file mode ${before.mode}`];
  return before.mode === after.mode ? [] : [`old mode ${before.mode}`, `new mode ${after.mode}`];
}

function isLink(side: NonNullable<Side>): boolean {
  return side.mode === "120000";
}

/** The name that git gives to this content. */
function blobId(side: Side): string {
  if (side === null) return "0".repeat(40);
  return createHash("sha1").update(`blob ${side.bytes.length}\0`).update(side.bytes).digest("hex");
}

/** As git decides it. */
function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

/** A name with spaces is followed by a tab, which shows where it ends. */
function ended(name: string): string {
  return name.includes(" ") && !name.startsWith('"') ? `${name}\t` : name;
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};

/** As git writes names that would break a line or end too early. */
function quoted(name: string): string {
  const isPlain = ![...name].some((sign) => sign < " " || sign === '"' || sign === "\\" || sign === "\x7f");
  if (isPlain) return name;
  const text = [...name].map((sign) => escapes[sign] ?? (sign < " " || sign === "\x7f" ? octal(sign) : sign));
  return `"${text.join("")}"`;
}

function octal(sign: string): string {
  return `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

function textOf(text: string): Buffer {
  return Buffer.from(text, "utf8");
}
