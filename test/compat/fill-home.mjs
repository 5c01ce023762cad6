// Fills a hub of any version over HTTP with jobs in every state, output, tokens and workers. It uses only calls that every
// version has had, so that each of them is asked the same.

const workerId = "by-hand";
const waitMsMax = 60_000;

/** Returns what a test needs to know of it: the jobs as that hub showed them, leases that are held, and tokens. */
export async function fillHome({ url, admin, runFunctions }) {
  const call = caller(url, admin);
  const user = await call("POST", "/tokens", { role: "user", tenant_id: "acme", user_id: "ada" });
  const worker = await call("POST", "/tokens", { role: "worker", worker_id: workerId });
  await call("POST", "/workers/register", {
    worker_id: workerId,
    cores: 4,
    ram_gb: 8,
    tags: ["gpu"],
    kinds: ["exec", "handler"],
  });
  const act = acts(call, caller(url, user.token));

  const jobs = {};
  jobs.completed = await act.completed();
  jobs.signed = await act.signed((until) => runFunctions({ url, token: admin, until }));
  jobs.failed = await act.failed();
  jobs.quarantined = await act.quarantined();
  jobs.cancelled = await act.cancelled();
  jobs.assigned = await act.claimed("assigned");
  jobs.running = await act.running();
  jobs.pending = { id: await act.submit("pending") };
  jobs.picky = { id: await act.submit("picky", { requires: { tags: ["gpu"], cores: 2, ram_gb: 1.5 } }) };

  const shown = {};
  for (const [name, { id }] of Object.entries(jobs)) shown[name] = await call("GET", `/jobs/${id}`);
  return { jobs, shown, tokens: { user: user.token, worker: worker.token } };
}

function acts(call, callAsUser) {
  const submit = async (type, more = {}) => {
    const run = { kind: "exec", argv: ["true"] };
    return (await callAsUser("POST", "/jobs", { type, run, ...more })).id;
  };
  const claimed = async (type, more) => {
    const id = await submit(type, more);
    return { id, lease: await claim(type) };
  };
  const claim = async (type) => {
    const { attempt, token } = await call("POST", "/jobs/claim", { worker_id: workerId, types: [type] });
    return { worker_id: workerId, attempt, token };
  };
  const running = async (type = "running", more = {}) => {
    const held = await claimed(type, more);
    await call("POST", `/jobs/${held.id}/start`, held.lease);
    await call.append(held, `first line of ${type}\n`);
    return held;
  };
  const fail = ({ id }, lease) =>
    call("POST", `/jobs/${id}/fail`, { ...lease, reason: "as it was asked to" });
  return {
    submit,
    claimed,
    running,
    async completed() {
      const held = await running("completed");
      await call("POST", `/jobs/${held.id}/result`, { ...held.lease, result: { answer: 42 }, exit_code: 0 });
      return held;
    },
    async signed(work) {
      const run = { kind: "handler", params: { number: 21 } };
      const { id } = await callAsUser("POST", "/jobs", { type: "old.double", run });
      await work(() => until(async () => (await call("GET", `/jobs/${id}`)).status === "completed"));
      return { id };
    },
    async failed() {
      const held = await running("failed", { max_attempts: 1 });
      await fail(held, held.lease);
      return held;
    },
    async quarantined() {
      const held = await running("quarantined", { max_attempts: 2 });
      await fail(held, held.lease);
      await fail(held, await claim("quarantined"));
      return held;
    },
    async cancelled() {
      const id = await submit("cancelled");
      await callAsUser("DELETE", `/jobs/${id}`);
      return { id };
    },
  };
}

function caller(url, token) {
  const send = async (method, path, { headers = {}, body } = {}) => {
    const authorization = `Bearer ${token}`;
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization, ...headers },
      body: body ?? null,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const call = (method, path, body) =>
    send(method, path, {
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
  call.append = ({ id, lease }, body) => {
    const { worker_id, attempt, token: leaseToken } = lease;
    const headers = {
      "content-type": "application/octet-stream",
      "x-worker-id": worker_id,
      "x-job-attempt": String(attempt),
      "x-lease-token": leaseToken,
    };
    return send("POST", `/jobs/${id}/output/stdout?offset=0`, { headers, body });
  };
  return call;
}

async function until(isSo) {
  const deadline = Date.now() + waitMsMax;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
