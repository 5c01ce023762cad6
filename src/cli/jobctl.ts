import { createContext } from "./create-context.ts";
import { runJobctl } from "./jobctl/program.ts";
import { whenPrinted } from "./terminal/when-printed.ts";

/** `jobctl` uses a hub. The first Ctrl-C ends the command in order, the second ends it at once. */
const context = createContext("jobctl", process, 0);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    context.stops.request(signal);
    if (context.stops.forced.aborted) process.exit(context.stops.exitCode);
  });
}
void runJobctl(context)
  .then((exitCode) => whenPrinted(context, exitCode))
  .then((exitCode) => process.exit(exitCode));
