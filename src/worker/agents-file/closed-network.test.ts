import { expect, it } from "vitest";
import { jobSubmission } from "../../contract/shapes/submit-shapes.ts";
import { documentFormat } from "../../core/jobs/document-format.ts";
import { fits, misfits, type QueueFacts, type WorkerFacts } from "../../core/jobs/queue-key.ts";
import { agentsShape } from "./agents-shape.ts";

const run = { kind: "exec", argv: ["true"] };
const closed = { network: "closed" };

function problemOf(job: object): string {
  const { error } = jobSubmission.safeParse({ type: "t", run, ...job });
  return error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ") ?? "accepted";
}

it.each<[object, string]>([
  [{ egress: { allow: [] } }, "limits.network: must be closed for a job with egress"],
  [
    { egress: { allow: [] }, limits: { network: "none" } },
    "limits.network: must be closed for a job with egress",
  ],
  [{ limits: closed, egress: {} }, "egress.allow: "],
  [{ limits: closed, egress: { allow: ["api.test"] } }, "egress.allow.0: must be a host and a port"],
  [
    { limits: closed, egress: { allow: ["10.0.0.1:443"] } },
    "egress.allow.0: must name a host and not an address",
  ],
  [
    { limits: closed, egress: { allow: ["*:443"] } },
    "egress.allow.0: must name a host; only the file of a worker",
  ],
  [
    { limits: closed, egress: { allow: Array(65).fill("a.test:1") } },
    "egress.allow: must have at most 64 entries",
  ],
  [{ limits: closed, egress: { allow: [], inject: ["a b"] } }, "egress.inject.0: must be a variable name"],
  [{ limits: closed, egress: { allow: [], more: 1 } }, 'egress: Unrecognized key: "more"'],
  [
    { limits: closed, run: { kind: "persistent_http", worker_command: ["x"], port: 1 } },
    "limits.network: closed is not possible for persistent_http jobs",
  ],
  [
    { limits: closed, run: { kind: "exec_per_job", worker_command: ["x"], container: "c" } },
    "limits.network: closed is not possible with run.container",
  ],
])("a job with %j is refused", (job, problem) => {
  expect(problemOf(job)).toContain(problem);
});

it("a closed network with or without a list is accepted", () => {
  expect(problemOf({ limits: closed })).toBe("accepted");
  expect(problemOf({ limits: closed, egress: { allow: ["*.api.test:443"], inject: ["KEY"] } })).toBe(
    "accepted",
  );
  expect(problemOf({ limits: closed, run: { kind: "handler" } })).toBe("accepted");
});

const queue: QueueFacts = {
  tenant_id: "default",
  type: "t",
  kind: "exec",
  execution_location: "LOCAL_MACHINE",
  provider: null,
  model: null,
  tags: [],
  session: null,
  cores: null,
  ram_gb: null,
  container: null,
  agent: null,
  network: "closed",
  document_format: documentFormat,
};
const worker: WorkerFacts = {
  tenantId: null,
  location: "LOCAL_MACHINE",
  cores: 1,
  ramGb: 1,
  tags: [],
  types: [],
  handlerTypes: [],
  capabilities: [],
  kinds: ["exec"],
  sessions: [],
  containers: [],
  documentFormat,
};

it("a worker that cannot close a network, or does not know what that is, is given no such job", () => {
  expect(misfits(queue, { ...worker, documentFormat: 6 })).toEqual([
    `reads documents up to format 6, and this one has ${documentFormat}`,
  ]);
  expect(misfits(queue, { ...worker, isolation: { level: "none", missing: [] } })).toEqual([
    "cannot close the network of a job: it runs processes without a cage",
  ]);
  const missing = [{ part: "network", why: "EPERM" }];
  expect(misfits(queue, { ...worker, isolation: { level: "best-effort", missing } })).toEqual([
    "cannot close the network of a job: EPERM",
  ]);
  expect(fits(queue, { ...worker, isolation: { level: "strict", missing: [] } })).toBe(true);
  expect(fits({ ...queue, network: null }, { ...worker, isolation: { level: "none", missing: [] } })).toBe(
    true,
  );
});

it("the file of a worker names keys only for hosts and headers that can have them", () => {
  const inject = { host: "api.test", header: "X-Key" };
  const problemIn = (execution: object): string => {
    const server = { url: "https://hub.test", worker_token: "t" };
    const { error } = agentsShape.safeParse({ server, execution });
    return error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ") ?? "accepted";
  };
  const secret = (changes: object) => ({
    secrets: { KEY: { file: "f", inject: { ...inject, ...changes } } },
  });
  expect(problemIn(secret({}))).toBe("accepted");
  expect(problemIn(secret({ host: "https://api.test" }))).toContain(
    "secrets.KEY.inject.host: must be a host",
  );
  for (const header of ["Host", "content-length", "Transfer-Encoding", "proxy-authorization", "a b", "a:"])
    expect(problemIn(secret({ header }))).toContain(
      "secrets.KEY.inject.header: must be the name of a header",
    );
  expect(problemIn(secret({ format: "Bearer" }))).toContain("must contain {secret} once");
  expect(problemIn(secret({ format: "{secret}\n" }))).toContain("must be plain characters");
  const two = { A: { file: "f", inject }, B: { file: "f", inject: { ...inject, host: "api.test:8443" } } };
  expect(problemIn({ secrets: two })).toContain("secrets.B.inject.host: another secret is for port 443");
  expect(problemIn({ egress: { allow: ["nothing"] } })).toContain(
    "egress.allow.0: must be a host and a port",
  );
  const outside = { agents: [{ name: "a", egress: { allow: [] } }] };
  expect(problemIn(outside)).toContain("agents.0.egress: needs a command");
});
