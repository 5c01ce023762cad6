import { constants } from "node:os";
import { conclude } from "./checks.mjs";
import { kernelTests, say } from "./kernel-tests.mjs";
import { notCapableStatus } from "./kernel-vm/not-capable.mjs";
import { setup } from "./setup.mjs";

// npm run test:kernel -- [--vm] [--test-…] [filters]
//   filters   parts of the names of files in test/kernel/guest; all of them without one
//   --vm      in the machine, even when this host's own kernel would do
//   --test-…  options of `node --test`, such as --test-name-pattern=swap
// Exit status: 0 all passed, 1 something failed, 77 this host is not capable of running them.

const args = process.argv.slice(2);
const unknown = args.find((arg) => arg.startsWith("-") && arg !== "--vm" && !arg.startsWith("--test-"));
if (unknown !== undefined) {
  say(`unknown option ${unknown}; there are --vm, options of node --test, and parts of file names`);
  process.exit(1);
}

// A plain process.exit runs the handlers that end the machine and clear its folder; dying by the signal does not.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}

setup();
const counts = await kernelTests({
  isRequired: false,
  filters: args.filter((arg) => !arg.startsWith("-")),
  nodeOptions: args.filter((arg) => arg.startsWith("--test-")),
  forceVm: args.includes("--vm"),
});
conclude([counts]);
if (counts.notCapable !== undefined) process.exitCode = notCapableStatus;
