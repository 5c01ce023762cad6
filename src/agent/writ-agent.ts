import manifest from "../../package.json" with { type: "json" };
import { untilWritten } from "../runtime/files/until-written.ts";
import { runAgent } from "./program.ts";

/** `writ-agent` runs jobs inside a container. The first signal ends a job in order, the second ends it at once. */
const stop = new AbortController();
const hurry = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) hurry.abort();
    stop.abort();
  });
}
const [, file = "", ...args] = process.argv;
const { env, execPath, stdin, stdout, stderr } = process;
for (const sink of [stdout, stderr]) sink.on("error", () => {});
void runAgent({
  args,
  env,
  cwd: process.cwd(),
  program: { execPath, file },
  version: manifest.version,
  stdin,
  stdout,
  stderr,
  stop: stop.signal,
  hurry: hurry.signal,
}).then(async (exitCode) => {
  // The second signal does not wait for a slow reader.
  hurry.signal.addEventListener("abort", () => process.exit(exitCode));
  if (!hurry.signal.aborted) await Promise.all([stdout, stderr].map(untilWritten));
  process.exit(exitCode);
});
