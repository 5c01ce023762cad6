/**
 * Submits a job, waits for its end and prints what came of it.
 *
 *   npm start                                   (in one terminal)
 *   node examples/submit-and-wait.ts            (in another)
 */
import { Writ } from "writ/client";

// WRIT_HOME, WRIT_HUB_URL and WRIT_TOKEN are used when they are set; else the hub that `npm start` runs is found.
const writ = Writ.fromEnvironment(process.env);

const { id } = await writ.submit({
  type: "greeting",
  run: { kind: "exec", argv: ["echo", "hello from a job"] },
  // The same key again gives back the same job instead of a second one.
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
