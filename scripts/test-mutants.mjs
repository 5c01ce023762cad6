import { runPinned } from "./run-pinned.mjs";
import { setup } from "./setup.mjs";

// `npm run test:mutants` takes each part of each guard away in turn; test/mutants/run-mutants.ts says what else it can do.
setup();
process.exitCode = await runPinned(["test/mutants/run-mutants.ts", ...process.argv.slice(2)]);
