/**
 * Submits a job, waits until it has ended and prints how it ended.
 *
 *   npm start                                           (in one terminal)
 *   node_modules/.writ/node examples/submit-and-wait.ts (in another)
 */
import { Writ } from "writ/client";

// Uses WRIT_HOME, WRIT_HUB_URL and WRIT_TOKEN if they are set, otherwise the hub that `npm start` runs.
const writ = Writ.fromEnvironment(process.env);

const { id } = await writ.submit({
  type: "greeting",
  run: { kind: "exec", argv: ["echo", "hello from a job"] },
  // Submitting again with the same key returns the same job instead of a second one.
  idempotency_key: `greeting-${Date.now()}`,
});
console.log(`submitted ${id}`);

const job = await writ.wait(id, { timeoutMs: 60_000 });
console.log(`${job.status} after ${job.attempts} attempt(s), exit code ${job.exit_code}`);
if (job.status !== "completed") {
  console.error(job.fail_history.at(-1)?.reason ?? job.fail_reason);
  process.exitCode = 1;
}

writ.close();
