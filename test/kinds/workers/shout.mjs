// A worker that uses nothing but Node. `shout.mjs --port N` serves jobs over HTTP, with the three endpoints that are
// required and no other; `shout.mjs BASE64` runs one job, and the last line of its output is the result.
import { randomUUID } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

/** In a cage every process has the same number. */
const processId = randomUUID();

/** @type {Map<string, { job_id: string; status: string; result?: unknown; error?: unknown }>} */
const jobs = new Map();

async function shout({ text, sleep_ms: ms }) {
  if (typeof text !== "string") throw new Error("the input has no text");
  if (ms !== undefined) await new Promise((resolve) => setTimeout(resolve, ms));
  return { shouted: text.toUpperCase(), process: processId };
}

async function run(job) {
  try {
    appendFileSync(job.job_log_out, `shouting ${job.job_input.text}\n`);
    const result = await shout(job.job_input);
    writeFileSync(`${job.job_output_dir}/shouted.txt`, result.shouted);
    jobs.set(job.job_id, { job_id: job.job_id, status: "completed", result });
  } catch (error) {
    appendFileSync(job.job_log_err, `${error.message}\n`);
    const failure = { code: "JOB_EXECUTION_ERROR", message: error.message };
    jobs.set(job.job_id, { job_id: job.job_id, status: "failed", error: failure });
  }
}

async function serve(request, response) {
  let body = "";
  for await (const chunk of request) body += chunk;
  const answer = (status, value) => response.writeHead(status).end(JSON.stringify(value));
  if (request.url === "/health/ready") return answer(200, { ready: true });
  if (request.method === "POST" && request.url === "/job") {
    const job = JSON.parse(body);
    if (!job.job_class.startsWith("shout")) {
      const error = { code: "UNKNOWN_JOB_CLASS", message: `${job.job_class} is not a class of this worker` };
      return answer(400, { accepted: false, job_id: job.job_id, error });
    }
    jobs.set(job.job_id, { job_id: job.job_id, status: "running" });
    void run(job);
    return answer(200, { accepted: true, job_id: job.job_id });
  }
  const known = request.method === "GET" ? jobs.get(request.url.replace("/job/", "")) : undefined;
  return known === undefined ? answer(404, { error: "not found" }) : answer(200, known);
}

const [first, second] = process.argv.slice(2);
if (first === "--port") {
  createServer(serve).listen(Number(second), "127.0.0.1", () => console.log(`shouting on port ${second}`));
} else {
  const input = JSON.parse(Buffer.from(first, "base64").toString());
  console.log(`shouting ${input.text}`);
  console.log(JSON.stringify(await shout(input)));
}
