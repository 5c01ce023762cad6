import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { readText, root } from "../docs/page.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();
const dir = mkdtempSync(join(tmpdir(), "writ-files-page-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const run = promisify(execFile);

/** All code of one language in the page, in its order. */
function codeOf(language: string): string {
  const blocks = readText("docs/files.md").matchAll(
    new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"),
  );
  return [...blocks].map(([, code]) => code).join("\n");
}

function around() {
  const env = { PATH: `${root}/bin:${process.env["PATH"]}`, WRIT_HOME: stage.hub.home };
  return { cwd: dir, env };
}

test("the commands of docs/files.md do what the page says", async () => {
  await stage.startWorker();
  const { stdout } = await run("bash", ["-ec", codeOf("sh").replaceAll("/tmp/writ-files", dir)], around());
  const sorted = "apple\nfig\npear\n";
  expect(stdout.startsWith(sorted + sorted)).toBe(true);
  expect(stdout).toContain("upper.txt  15 bytes");
  expect(stdout.match(/upper\.txt matches the receipt/g)).toHaveLength(2);
  expect(readFileSync(join(dir, "upper/upper.txt"), "utf8")).toBe("PEAR\nAPPLE\nFIG\n");
});

test("the program of docs/files.md does what the page says", async () => {
  await stage.startWorker();
  writeFileSync(join(dir, "fruit.txt"), "b\na\n");
  const program = codeOf("ts").replace('"writ/client"', JSON.stringify(`${root}/src/client/index.ts`));
  writeFileSync(join(dir, "program.ts"), program);
  const { stdout } = await run(process.execPath, [join(dir, "program.ts")], around());
  expect(stdout).toMatch(/^sorted\.txt [0-9a-f]{64}\n$/);
  expect(readdirSync(join(dir, "results"))).toEqual(["sorted.txt"]);
});

/** Debian's own; others may be in the way of the path. */
const python = "/usr/bin/python3";
const pythonName = "the Python program of docs/files.md stores a file and gets it back";
const runPython = async (): Promise<void> => {
  writeFileSync(join(dir, "fruit.txt"), "pear\n");
  const env = { WRIT_HUB_URL: stage.hub.url, WRIT_TOKEN: stage.hub.admin };
  const { stdout } = await run(python, ["-c", codeOf("python")], { cwd: dir, env });
  expect(stdout).toBe("pear\n");
};
if (existsSync(python)) test(pythonName, runPython);
else test.skip(`${pythonName} (not capable: no ${python})`, runPython);
