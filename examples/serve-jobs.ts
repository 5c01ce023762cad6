/**
 * A program that serves jobs over HTTP, for jobs of kind persistent_http. Here it calls itself, without a hub.
 *
 *   node_modules/.writ/node examples/serve-jobs.ts
 */
import { setTimeout as pause } from "node:timers/promises";
import { serveJobs, withSchema } from "writ/jobs";
import { z } from "zod";

const server = await serveJobs(
  {
    // The input is checked before the job is accepted, and the compiler knows its type.
    "add.v1": withSchema(z.object({ a: z.number(), b: z.number() }), ({ input }, { log }) => {
      log(`adding ${input.a} and ${input.b}`);
      return { sum: input.a + input.b };
    }),
    "slow.v1": async (_job, { progress, signal }) => {
      for (let percent = 0; percent < 100; percent += 10) {
        progress(percent);
        await pause(100, undefined, { signal });
      }
    },
  },
  // Writ sets PORT. Here any free port will do.
  { port: Number(process.env["PORT"] ?? 0), concurrency: 4 },
);

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const options = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  return (await fetch(`http://127.0.0.1:${server.port}${path}`, options)).json();
}

console.log(await call("POST", "/job", { job_id: "1", job_class: "add.v1", job_input: { a: "x", b: 2 } }));
console.log(await call("POST", "/job", { job_id: "2", job_class: "add.v1", job_input: { a: 1, b: 2 } }));
console.log(await call("GET", "/job/2"));
await call("POST", "/job", { job_id: "3", job_class: "slow.v1" });
console.log(await call("DELETE", "/job/3"));
await pause(10);
console.log(await call("GET", "/job/3"));
await server.stop();
