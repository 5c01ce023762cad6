// A worker that does what a job asks of it, however odd. It uses nothing but Node.
// odd.mjs --port N [--ready-after MS] [--with-delete]
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    port: { type: "string" },
    "ready-after": { type: "string", default: "0" },
    "with-delete": { type: "boolean", default: false },
  },
});
const processId = randomUUID();
const jobs = new Map();
let isReady = true;
const readyAtMs = Date.now() + Number(flags["ready-after"]);

/** Each gets the job and answers its status from then on. */
const acts = {
  echo: ({ job_input: { value } }) => ({ status: "completed", result: { value, process: processId } }),
  /** Ends when the file is there. */
  until: async ({ job_input: { file } }) => {
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
    return { status: "completed", result: { process: processId } };
  },
  /** Ready for no other job meanwhile. */
  "until-alone": async (job) => {
    isReady = false;
    const end = await acts.until(job);
    isReady = true;
    return end;
  },
  never: () => new Promise(() => {}),
  crash: () => process.exit(7),
  hang: () => {
    while (true);
  },
  garbage: () => "all is well",
  "wrong-job": () => ({ job_id: "other", status: "completed" }),
  "unknown-status": () => ({ status: "done" }),
  forget: () => undefined,
  huge: () => "x".repeat(5_000_000),
  flood: async ({ job_log_out }) => {
    for (let lines = 0; lines < 2000; lines++) appendFileSync(job_log_out, `${"x".repeat(1023)}\n`);
    return new Promise(() => {});
  },
  tell: ({ job_log_out, job_log_err }) => {
    appendFileSync(job_log_out, `the key is ${process.env.API_KEY}\n`);
    appendFileSync(job_log_err, `again: ${process.env.API_KEY}\n`);
    console.log(`my log: ${process.env.API_KEY}`);
    return { status: "completed", result: { key: process.env.API_KEY } };
  },
  "tell-progress": ({ job_id, job_input: { file } }) => {
    jobs.set(job_id, { status: "running", progress: 70, progress_detail: `with ${process.env.API_KEY}` });
    return acts.until({ job_input: { file } });
  },
  "tell-error": () => ({ status: "failed", error: `bad key ${process.env.API_KEY}` }),
};

function take(job) {
  jobs.set(job.job_id, { status: "running", progress: 50 });
  // After the answer, or a worker that hangs would not have accepted the job.
  setTimeout(async () => jobs.set(job.job_id, await acts[job.job_input.act](job)), 20);
}

createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const answer = (status, value) =>
    response.writeHead(status).end(typeof value === "string" ? value : JSON.stringify(value));
  const id = request.url.replace("/job/", "");
  if (request.url === "/health/ready") {
    if (!isReady) console.log("asked while it was busy");
    return answer(Date.now() < readyAtMs || !isReady ? 503 : 200, {});
  }
  if (request.method === "POST") {
    const job = JSON.parse(body);
    const { act } = job.job_input;
    if (act === "refuse-garbage") return answer(200, "yes");
    if (act === "hang-up") return request.socket.destroy();
    if (act === "not-http") return request.socket.end("all is well\n");
    take(job);
    return answer(200, { accepted: true, job_id: job.job_id });
  }
  if (request.method === "DELETE" && flags["with-delete"]) {
    jobs.set(id, { status: "failed", error: "deleted" });
    return answer(200, {});
  }
  const state = request.method === "GET" ? jobs.get(id) : undefined;
  if (state === undefined) return answer(404, {});
  return answer(200, typeof state === "string" ? state : { job_id: id, ...state });
}).listen(Number(flags.port), () => console.log(`odd worker on port ${flags.port}`));
