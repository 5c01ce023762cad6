// A worker with the three endpoints, written without any library of ours: it copies its job's inputs to its outputs.
import { cpSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";

const jobs = new Map();
createServer(async (request, response) => {
  const answer = (body) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (request.url === "/health/ready") return answer({});
  if (request.method !== "POST") return answer(jobs.get(request.url.split("/").at(-1)));
  const { job_id, job_output_dir } = JSON.parse((await Array.fromAsync(request)).join(""));
  try {
    cpSync(join(dirname(job_output_dir), "inputs"), job_output_dir, { recursive: true });
    jobs.set(job_id, { job_id, status: "completed", result: {} });
  } catch (error) {
    jobs.set(job_id, { job_id, status: "failed", error: { code: "X", message: error.message } });
  }
  answer({ accepted: true, job_id });
}).listen(Number(process.env.PORT), "127.0.0.1");
