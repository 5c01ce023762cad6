/**
 * Runs a command as a job and prints its output live.
 *
 *   npm start                                           (in one terminal)
 *   node_modules/.writ/node examples/stream-output.ts   (in another)
 */
import { Writ } from "writ/client";

const writ = Writ.fromEnvironment(process.env);
const script = "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done";
const { id } = await writ.submit({ type: "count", run: { kind: "exec", argv: ["sh", "-c", script] } });

// Every byte arrives exactly once, even if the connection breaks or the hub restarts in the middle.
for await (const chunk of writ.streamOutput(id, { signal: AbortSignal.timeout(60_000) })) {
  process.stdout.write(chunk);
}

const { status } = await writ.wait(id, { timeoutMs: 10_000 });
console.log(`the job is ${status}`);
process.exitCode = status === "completed" ? 0 : 1;
writ.close();
