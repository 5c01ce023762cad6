import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { conclude, guard, lint, runAllTests, runTests, typecheck, typecheckDashboard } from "./checks.mjs";
import { beginKernelTests } from "./kernel-tests.mjs";
import { root, stateDir } from "./paths.mjs";
import { setup } from "./setup.mjs";

// `npm test` runs everything; `npm test -- FILTERS` runs only the tests that vitest selects by them; `npm test -- --save-times`
// runs everything and keeps how long each file took, which decides the order of the next runs.
setup();
const saveTimes = "--save-times";
const filters = process.argv.slice(2).filter((word) => word !== saveTimes);
if (filters.length > 0) conclude([await runTests(filters)]);
else {
  const kernelTests = beginKernelTests({ isRequired: process.env.CI === "true" });
  conclude([
    await typecheck(),
    await typecheckDashboard(),
    await lint(),
    await guard(),
    await runAllTests(),
    await kernelTests(),
  ]);
  if (process.argv.includes(saveTimes))
    copyFileSync(join(stateDir, "test-times.json"), join(root, "test/run/times.json"));
}
