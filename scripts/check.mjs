import { conclude, lint, runTests, typecheck } from "./checks.mjs";
import { setup } from "./setup.mjs";

// What to run before each commit: everything that answers within a minute.
setup();
conclude([lint(), typecheck(), runTests(["--project", "fast"])]);
