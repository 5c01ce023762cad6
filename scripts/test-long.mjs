import { conclude, runTests } from "./checks.mjs";
import { setup } from "./setup.mjs";

// `npm run test:long` runs the tests in `test/long`, which take minutes each; `npm run test:long -- FILTERS` some of them.
// On a terminal vitest shows which test is running and for how long.
setup();
conclude([await runTests(["--config", "vitest.long.config.ts", ...process.argv.slice(2)])]);
