// writ/jobs in one file, for Node 20 or newer; made by Writ, so do not edit it here.

// src/jobs/handlers.ts
function withSchema(schema, handle) {
  return { schema, handle };
}

// src/jobs/serve-jobs.ts
import { createServer } from "node:http";

// src/jobs/job-log.ts
import { closeSync, openSync, writeSync } from "node:fs";
var JobLog = class {
  #path;
  #file;
  #isBroken = false;
  constructor(path) {
    this.#path = path;
    this.#isBroken = path === void 0;
  }
  write(text) {
    if (this.#isBroken) return;
    try {
      this.#file ??= openSync(this.#path, "a");
      const bytes = Buffer.from(`${text}
`);
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done);
    } catch {
      this.#isBroken = true;
    }
  }
  close() {
    this.#isBroken = true;
    if (this.#file !== void 0) closeSync(this.#file);
    this.#file = void 0;
  }
};

// src/jobs/job-table.ts
var messageCharsMax = 2e3;
var JobTable = class {
  #options;
  /** In the order of their submission. */
  #jobs = /* @__PURE__ */ new Map();
  #running = 0;
  #onChange = [];
  constructor(options) {
    this.#options = options;
  }
  /** A job that has ended may be submitted again: a retry has the same id. */
  isOpen(id) {
    const status = this.#jobs.get(id)?.status;
    return status === "pending" || status === "running";
  }
  add(job) {
    this.#jobs.delete(job.id);
    this.#jobs.set(job.id, { job, abort: new AbortController(), status: "pending", isRead: false });
    this.#startNext();
  }
  /** The answer to `GET /job/{id}` as JSON text; undefined if the job is not known. */
  describe(id) {
    const entry = this.#jobs.get(id);
    if (entry === void 0) return void 0;
    const { job, status, progress, result, error } = entry;
    if (hasEnded(entry)) {
      entry.isRead = true;
      this.#changed();
    }
    const fields = {
      job_id: job.id,
      job_class: job.jobClass,
      status,
      progress: progress?.percent,
      progress_detail: progress?.detail,
      error
    };
    const text = JSON.stringify(fields);
    return result === void 0 ? text : `${text.slice(0, -1)},"result":${result}}`;
  }
  list() {
    return [...this.#jobs.values()].map(({ job, status }) => ({
      job_id: job.id,
      job_class: job.jobClass,
      status
    }));
  }
  /** False if the job is not known. It has ended when its handler has returned. */
  cancel(id) {
    const entry = this.#jobs.get(id);
    if (entry === void 0) return false;
    if (entry.status === "pending") this.#end(entry, { error: cancelled });
    entry.abort.abort();
    return true;
  }
  /** Resolves when no job is left, and somebody has read the end of each; waits for the latter at most this long. */
  async whenDone(readMs2) {
    while ([...this.#jobs.keys()].some((id) => this.isOpen(id))) await this.#nextChange();
    const timer = setTimeout(() => {
      for (const entry of this.#jobs.values()) entry.isRead = true;
      this.#changed();
    }, readMs2);
    while ([...this.#jobs.values()].some(({ isRead }) => !isRead)) await this.#nextChange();
    clearTimeout(timer);
  }
  #startNext() {
    for (const entry of this.#jobs.values()) {
      if (this.#running >= this.#options.concurrency) return;
      if (entry.status === "pending") void this.#run(entry);
    }
  }
  async #run(entry) {
    const { job, abort } = entry;
    const logs = { out: new JobLog(job.logOut), err: new JobLog(job.logErr) };
    entry.status = "running";
    this.#running++;
    const context = {
      signal: abort.signal,
      progress: (percent, detail) => {
        entry.progress = { percent, detail };
      },
      log: (text) => logs.out.write(text),
      logError: (text) => logs.err.write(text)
    };
    const end = await this.#call(job, context);
    logs.out.close();
    logs.err.close();
    this.#running--;
    this.#end(entry, abort.signal.aborted ? { error: cancelled } : end);
    this.#startNext();
  }
  async #call(job, context) {
    try {
      const handler = this.#options.handlers[job.jobClass];
      const handle = typeof handler === "function" ? handler : handler.handle;
      const { id, jobClass, input, outputDir } = job;
      const value = await handle({ id, jobClass, input, outputDir }, context);
      return { result: JSON.stringify(value) ?? "null" };
    } catch (error) {
      const end = errorOf(error);
      if (!context.signal.aborted && end.code !== "INVALID_INPUT") context.logError(stackOf(error));
      return { error: end };
    }
  }
  #end(entry, end) {
    Object.assign(entry, end);
    entry.status = "error" in end ? "failed" : "completed";
    this.#forgetOldest();
    this.#changed();
  }
  #forgetOldest() {
    const ended = [...this.#jobs.values()].filter(hasEnded);
    for (const { job } of ended.slice(0, Math.max(0, ended.length - this.#options.rememberMax)))
      this.#jobs.delete(job.id);
  }
  #changed() {
    for (const resolve of this.#onChange.splice(0)) resolve();
  }
  #nextChange() {
    return new Promise((resolve) => this.#onChange.push(resolve));
  }
};
var cancelled = { code: "JOB_EXECUTION_ERROR", message: "cancelled" };
function hasEnded({ status }) {
  return status === "completed" || status === "failed";
}
function stackOf(error) {
  return error instanceof Error && error.stack || String(error);
}
function errorOf(error) {
  const isInput = error instanceof Error && "code" in error && error.code === "INVALID_INPUT";
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: isInput ? "INVALID_INPUT" : "JOB_EXECUTION_ERROR",
    message: message.slice(0, messageCharsMax) || "the handler threw an error without a message"
  };
}

// src/jobs/socket-of-writ.ts
function socketOfWrit() {
  return process.env["WRIT_SOCKET"] || void 0;
}

// src/jobs/schema.ts
async function checkInput(schema, value) {
  const outcome = await schema["~standard"].validate(value);
  if (outcome.issues === void 0) return { value: outcome.value };
  const { message = "is refused by the schema", path = [] } = outcome.issues[0] ?? {};
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return { problem: `${["job_input", ...keys].join(".")}: ${message}` };
}

// src/jobs/submission.ts
async function readSubmission(body, handlers, isOpen) {
  const fields = parseObject(body);
  if (fields === void 0) return refuse(null, "INVALID_JSON", "the body must be a JSON object");
  const { job_id: jobId, job_class: jobClass } = fields;
  if (typeof jobId !== "string" || jobId === "")
    return refuse(null, "MISSING_JOB_ID", "job_id must be a text that is not empty");
  if (isOpen(jobId)) return refuse(jobId, "DUPLICATE_JOB_ID", `job ${jobId} has not ended yet`, 409);
  const handler = typeof jobClass === "string" && Object.hasOwn(handlers, jobClass) ? handlers[jobClass] : void 0;
  if (typeof jobClass !== "string" || handler === void 0) {
    const known = Object.keys(handlers).join(", ");
    return refuse(jobId, "UNKNOWN_JOB_CLASS", `job_class must be one of: ${known}`);
  }
  const input = fields["job_input"] ?? null;
  const checked = typeof handler === "function" ? { value: input } : await checkInput(handler.schema, input);
  if ("problem" in checked) return refuse(jobId, "INVALID_INPUT", checked.problem);
  if (isOpen(jobId)) return refuse(jobId, "DUPLICATE_JOB_ID", `job ${jobId} has not ended yet`, 409);
  const [logOut, logErr, outputDir] = ["job_log_out", "job_log_err", "job_output_dir"].map(
    (name) => typeof fields[name] === "string" ? fields[name] : void 0
  );
  return { job: { id: jobId, jobClass, input: checked.value, outputDir, logOut, logErr } };
}
function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : void 0;
  } catch {
    return void 0;
  }
}
function refuse(jobId, code, message, status = 400) {
  return { refusal: { code, message }, status, jobId };
}

// src/jobs/serve-jobs.ts
var stopSignals = ["SIGTERM", "SIGINT"];
var bodyBytesMax = 16 * 1024 * 1024;
var readMs = 2e3;
async function serveJobs(handlers, options) {
  const { port, host, concurrency = 100, rememberMax = 1e3 } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new RangeError(`port: ${port} is not a port; use a whole number from 0 to 65535`);
  const service = new JobService(handlers, new JobTable({ handlers, concurrency, rememberMax }));
  const server = createServer((request, response) => void service.answer(request, response));
  const path = host === void 0 ? socketOfWrit() : void 0;
  await listen(server, path === void 0 ? { port, host: host ?? "127.0.0.1" } : { path });
  let stopped;
  const stop = () => {
    for (const name of stopSignals) process.off(name, onSignal);
    stopped ??= service.finish().then(() => close(server));
    return stopped;
  };
  const onSignal = () => void stop();
  for (const name of stopSignals) process.on(name, onSignal);
  return { port: path === void 0 ? server.address().port : port, stop };
}
var JobService = class {
  #handlers;
  #jobs;
  #isStopping = false;
  constructor(handlers, jobs) {
    this.#handlers = handlers;
    this.#jobs = jobs;
  }
  async finish() {
    this.#isStopping = true;
    await this.#jobs.whenDone(readMs);
  }
  async answer(request, response) {
    let reply;
    try {
      reply = await this.#reply(request);
    } catch (error) {
      reply = problem(500, "INTERNAL", error.message);
    }
    const text = "text" in reply ? reply.text : JSON.stringify(reply.body);
    response.writeHead(reply.status, { "content-type": "application/json", connection: "close" }).end(text);
  }
  async #reply(request) {
    const { method = "GET" } = request;
    const path = (request.url ?? "/").split("?")[0];
    const id = /^\/job\/([^/]+)$/.exec(path)?.[1];
    if (method === "GET" && path === "/health/ready")
      return { status: this.#isStopping ? 503 : 200, body: { ready: !this.#isStopping } };
    if (method === "GET" && path === "/health") return { status: 200, body: { status: "ok" } };
    if (method === "GET" && path === "/job-classes")
      return { status: 200, body: { job_classes: Object.keys(this.#handlers) } };
    if (method === "GET" && path === "/job") return { status: 200, body: { jobs: this.#jobs.list() } };
    if (method === "POST" && path === "/job") return this.#submit(request);
    if (id !== void 0 && (method === "GET" || method === "DELETE"))
      return this.#one(method, decodeURIComponent(id));
    return problem(404, "NOT_FOUND", `there is no ${method} ${path} here`);
  }
  async #submit(request) {
    const body = await readBody(request);
    if (body === void 0) return problem(413, "TOO_LARGE", `a body has at most ${bodyBytesMax} bytes`);
    const submitted = await readSubmission(body, this.#handlers, (jobId) => this.#jobs.isOpen(jobId));
    if ("refusal" in submitted) {
      const { status, jobId, refusal } = submitted;
      return { status, body: { accepted: false, job_id: jobId, error: refusal } };
    }
    if (this.#isStopping) {
      const error = { code: "STOPPING", message: "this worker takes no more jobs" };
      return { status: 503, body: { accepted: false, job_id: null, error } };
    }
    this.#jobs.add(submitted.job);
    return { status: 202, body: { accepted: true, job_id: submitted.job.id } };
  }
  #one(method, id) {
    const isKnown = method === "GET" || this.#jobs.cancel(id);
    const text = isKnown ? this.#jobs.describe(id) : void 0;
    if (text === void 0) return problem(404, "JOB_NOT_FOUND", `there is no job ${id} here`);
    return { status: method === "DELETE" ? 202 : 200, text };
  }
};
function problem(status, code, message) {
  return { status, body: { error: { code, message } } };
}
async function readBody(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  return bytes <= bodyBytesMax ? Buffer.concat(chunks).toString("utf8") : void 0;
}
function listen(server, address) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
function close(server) {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
export {
  serveJobs,
  withSchema
};
