/** How much of one file a diff changes. */
export type FileStat = { path: string; added: number; removed: number; isBinary: boolean };

const head = /^diff --git (?:"a\/(?<quoted>(?:[^"\\]|\\.)*)"|a\/(?<plain>.*?)) (?:"b\/|b\/)/;
const hunk = /^@@ -\d+(?:,(?<old>\d+))? \+\d+(?:,(?<now>\d+))? @@/;

/** Counts the lines of a diff that git can read, file by file. Lines inside a hunk are counted and never interpreted. */
export function diffStat(diff: string): FileStat[] {
  const files: FileStat[] = [];
  let file: FileStat | undefined;
  let left = { old: 0, now: 0 };
  for (const line of diff.split("\n")) {
    if (left.old > 0 || left.now > 0) {
      const sign = line[0];
      if (sign === "\\") continue;
      if (sign !== "+") left.old--;
      if (sign !== "-") left.now--;
      if (file !== undefined && sign === "+") file.added++;
      if (file !== undefined && sign === "-") file.removed++;
      continue;
    }
    const path = pathIn(line);
    if (path !== undefined) {
      file = { path, added: 0, removed: 0, isBinary: false };
      files.push(file);
    }
    if (file !== undefined && line === "GIT binary patch") file.isBinary = true;
    const sizes = hunk.exec(line)?.groups;
    if (sizes !== undefined) left = { old: Number(sizes["old"] ?? 1), now: Number(sizes["now"] ?? 1) };
  }
  return files;
}

function pathIn(line: string): string | undefined {
  const { quoted, plain } = head.exec(line)?.groups ?? {};
  // Both names are the same, so half of the rest is one of them, however many spaces it contains.
  if (plain !== undefined)
    return line.slice("diff --git a/".length, (line.length + "diff --git ".length - 1) / 2);
  return quoted === undefined ? undefined : unquoted(quoted);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", '"': '"', "\\": "\\" };

/** git writes a character outside ASCII as its bytes, each in octal digits. */
function unquoted(text: string): string {
  return text.replaceAll(
    /(?<octal>(?:\\[0-7]{3})+)|\\(?<sign>.)/g,
    (all, octal: string | undefined, sign: string) => {
      if (octal === undefined) return escapes[sign] ?? sign;
      const bytes = all.split("\\").slice(1);
      return Buffer.from(bytes.map((digits) => Number.parseInt(digits, 8))).toString("utf8");
    },
  );
}
