import { constants } from "node:os";
import { conclude } from "./checks.mjs";
import { kernelTests } from "./kernel-tests.mjs";
import { notCapableStatus } from "./kernel-vm/not-capable.mjs";
import { setup } from "./setup.mjs";

// npm run test:kernel -- [--vm] [--test-…] [filters]
//   filters   parts of file names in test/kernel/guest (default: all files)
//   --vm      run in the virtual machine, even if this host's own kernel would do
//   --test-…  options of `node --test`, such as --test-name-pattern=swap
// Exit status: 0 when all passed, 1 when something failed, 77 when this host cannot run them.

const args = process.argv.slice(2);
const unknown = args.find((arg) => arg.startsWith("-") && arg !== "--vm" && !arg.startsWith("--test-"));
if (unknown !== undefined) {
  console.error(
    `── kernel: unknown option ${unknown}; use --vm, a --test-… option of node --test, or parts of file names`,
  );
  process.exit(1);
}

// process.exit runs the handlers that stop the machine and remove its folder; dying by the signal does not.
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
