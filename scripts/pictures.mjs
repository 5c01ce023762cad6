import { runPinned } from "./run-pinned.mjs";
import { setup } from "./setup.mjs";

// Takes pictures of every page of the dashboard: `npm run pictures -- FOLDER [PART OF A NAME]`.
setup();
process.exitCode = await runPinned(["test/dashboard/take-pictures.ts", ...process.argv.slice(2)]);
