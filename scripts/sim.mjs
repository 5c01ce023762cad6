import { runPinned } from "./run-pinned.mjs";
import { setup } from "./setup.mjs";

// `npm run sim -- --schedules N --seed S` plays schedules of jobs and faults; sim/main.ts says what else it can do.
setup();
process.exitCode = await runPinned(["sim/main.ts", ...process.argv.slice(2)]);
