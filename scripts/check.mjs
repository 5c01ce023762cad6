import { conclude, lint, runTests, typecheck, typecheckDashboard } from "./checks.mjs";
import { setup } from "./setup.mjs";

// For use before each commit: everything that takes less than a minute.
setup();
conclude([
  await lint(),
  await typecheck(),
  await typecheckDashboard(),
  await runTests(["--project", "fast"]),
]);
