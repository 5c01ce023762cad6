import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeWorkFolder } from "../../src/runtime/files/work-folder.ts";

/**
 * A command that is at work: makes a work folder with a file in it and a temporary file beside FILE, prints the path of the folder, and
 * waits to be killed. Usage: hold-work-folder.ts DIR PREFIX FILE
 */
const [dir, prefix, file] = process.argv.slice(2) as [string, string, string];
const folder = makeWorkFolder(dir, prefix);
writeFileSync(join(folder.path, "writ.sqlite"), "params");
writeFileSync(folder.temporaryBeside(file), "half");
process.stdout.write(`${folder.path}\n`);
process.stdin.resume();
// It holds the folder until then: without a reference, the lock would be collected.
process.once("exit", () => folder.remove());
