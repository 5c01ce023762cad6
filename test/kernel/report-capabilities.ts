import { release } from "node:os";
import { findCapabilities } from "./capabilities.ts";

// Printed before the tests, so that a reader knows what their result is worth on this kernel.
console.log(`capabilities of Linux ${release()}, Node ${process.version}:`);
for (const { name, obstacle } of findCapabilities()) {
  console.log(`  ${name.padEnd(30)} ${obstacle === null ? "capable" : `not capable: ${obstacle}`}`);
}
