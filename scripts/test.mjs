import { conclude, lint, runTests, typecheck } from "./checks.mjs";
import { setup } from "./setup.mjs";

// `npm test` is everything; `npm test -- <filters for vitest>` is only the tests that they select.
setup();
const filters = process.argv.slice(2);
conclude(filters.length > 0 ? [runTests(filters)] : [typecheck(), lint(), runTests([])]);
