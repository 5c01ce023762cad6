import { tmpdir } from "node:os";
import { openCage } from "writ/sandbox";

/**
 * Runs a command in a cage, without a hub, and prints its output live.
 *
 *     node_modules/.writ/node examples/caged-process.ts sh -c 'id; ls /; sleep 1; echo done'
 */
const command = process.argv.length > 2 ? process.argv.slice(2) : ["sh", "-c", "id; ls /; echo done"];

const cage = await openCage({ dir: tmpdir() });
try {
  const id = await cage.startJob(command, { pids: 64 });
  for await (const bytes of cage.streamOutput(id, "stdout")) process.stdout.write(bytes);
  for await (const bytes of cage.streamOutput(id, "stderr")) process.stderr.write(bytes);

  const { exitCode, signal, usage, isolation } = cage.getStatus(id);
  const missing = isolation.missing.map(({ part }) => part).join(", ") || "nothing";
  console.log(`ended with ${exitCode ?? signal} after ${usage.cpu_ms} ms of CPU`);
  console.log(`isolation ${isolation.level}: ${isolation.applied.join(", ")}; missing: ${missing}`);
} finally {
  await cage.close();
}
