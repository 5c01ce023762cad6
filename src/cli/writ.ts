import { createContext } from "./create-context.ts";
import { whenPrinted } from "./terminal/when-printed.ts";
import { runWrit } from "./writ/program.ts";

/** `writ` runs a hub and its workers. The first signal drains and stops, the second stops at once. */
const context = createContext("writ", process);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => context.stops.request(signal));
}
void runWrit(context)
  .then((exitCode) => whenPrinted(context, exitCode))
  .then((exitCode) => process.exit(exitCode));
