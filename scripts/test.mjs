import { conclude, guard, lint, runAllTests, runTests, typecheck, typecheckDashboard } from "./checks.mjs";
import { kernelTests } from "./kernel-tests.mjs";
import { setup } from "./setup.mjs";

// `npm test` runs everything; `npm test -- FILTERS` runs only the tests that vitest selects by them.
setup();
const filters = process.argv.slice(2);
if (filters.length > 0) conclude([runTests(filters)]);
else {
  const isRequired = process.env.CI === "true";
  conclude([
    typecheck(),
    typecheckDashboard(),
    lint(),
    guard(),
    runAllTests(),
    await kernelTests({ isRequired }),
  ]);
}
