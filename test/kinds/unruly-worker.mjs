// An HTTP worker that misbehaves as the job's input asks: `unruly-worker.mjs PORT [READY_AFTER_MS]`.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, readyAfterMs = "0"] = process.argv.slice(2);
const readyAtMs = Date.now() + Number(readyAfterMs);
const jobs = new Map();

createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const answer = (status, value) => response.writeHead(status).end(JSON.stringify(value));
  const id = request.url.split("/")[2];
  if (request.url === "/health/ready") return answer(Date.now() < readyAtMs ? 503 : 200, {});
  if (request.method === "DELETE") return answer(jobs.get(id)?.obeys && jobs.delete(id) ? 200 : 405, {});
  if (request.method === "GET") {
    const job = jobs.get(id);
    if (job === undefined) return answer(404, {});
    if (job.garbage) return response.end("<html>busy</html>");
    return answer(200, { job_id: id, status: job.hang ? "running" : "success", result: job });
  }
  const { job_id, job_input, job_log_out } = JSON.parse(body);
  appendFileSync(job_log_out, "accepted\n");
  if (job_input.secret) appendFileSync(job_log_out, `secret ${process.env.SECRET}\n`);
  if (job_input.secret) console.log(`secret ${process.env.SECRET}`);
  jobs.set(job_id, { ...job_input, pid: process.pid });
  if (job_input.crash) setTimeout(() => process.exit(7), 20);
  return answer(200, { accepted: true, job_id });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
