import { join } from "node:path";
import { takeOver } from "../../src/hub/migrate/take-over.ts";
import { readMacKey } from "../../src/signing/key-files.ts";

/**
 * Puts the jobs of a home into frames in a process of its own, which can be killed and whose memory can be measured. Each line that it
 * prints is JSON. Usage: take-over-program.ts HOME
 */
const home = process.argv[2]!;
const keysDir = join(home, "keys");
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const startedMs = performance.now();
const taken = await takeOver({
  home,
  path: join(home, "writ.sqlite"),
  keysDir,
  macKey: readMacKey(keysDir),
  onBegin: (estimate) => say({ estimate }),
  onProgress: say,
});
const { maxRSS } = process.resourceUsage();
say({ done: true, ...taken, ms: performance.now() - startedMs, peakBytes: maxRSS * 1024 });
