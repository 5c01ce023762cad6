import { join } from "node:path";
import { root } from "./paths.mjs";
import { runPinned } from "./run-pinned.mjs";
import { setup } from "./setup.mjs";

// `npm run pack [-- FOLDER]` makes the tarball that npm installs, and prints its path.
setup();
process.exit(await runPinned([join(root, "scripts/pack/make-package.mjs"), ...process.argv.slice(2)]));
