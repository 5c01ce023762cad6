import { describe, expect, it } from "vitest";
import { fits, misfits, parseQueueKey, type QueueFacts, queueKey, type WorkerFacts } from "./queue-key.ts";

const queue: QueueFacts = {
  tenant_id: "acme",
  type: "build",
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
  network: null,
  document_format: 1,
};
const worker: WorkerFacts = {
  tenantId: null,
  location: "LOCAL_MACHINE",
  cores: 4,
  ramGb: 8,
  tags: [],
  types: [],
  handlerTypes: [],
  capabilities: [],
  kinds: ["exec", "handler"],
  sessions: [],
  containers: [],
  documentFormat: 2,
};

describe("a queue key", () => {
  it("differs when any fact does", () => {
    const others: Partial<QueueFacts>[] = [
      { tenant_id: "b" },
      { type: "b" },
      { kind: "handler" },
      { execution_location: "CLOUD" },
      { provider: "OLLAMA" },
      { model: "m" },
      { tags: ["a"] },
      { session: "s" },
      { cores: 1 },
      { ram_gb: 1 },
      { container: "c" },
      { agent: "a" },
      { document_format: 2 },
    ];
    const keys = [queue, ...others.map((other) => ({ ...queue, ...other }))].map(queueKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("is the same whatever the order of the tags", () => {
    expect(queueKey({ ...queue, tags: ["b", "a"] })).toBe(queueKey({ ...queue, tags: ["a", "b"] }));
  });

  it("cannot be forged by a name that looks like a part of it", () => {
    expect(queueKey({ ...queue, tenant_id: 'a","b' })).not.toBe(
      queueKey({ ...queue, tenant_id: "a", type: "b" }),
    );
  });

  it("reads back as the facts", () => {
    const facts = { ...queue, tags: ["a", "b"], cores: 2, session: "s" };
    expect(parseQueueKey(queueKey(facts))).toEqual(facts);
    const newer = [
      { container: "c" },
      { agent: "a" },
      { document_format: 2 },
      { container: "c", document_format: 3 },
    ];
    for (const parts of newer)
      expect(parseQueueKey(queueKey({ ...facts, ...parts }))).toEqual({ ...facts, ...parts });
  });

  it("of facts that version 0.1 knew is the text that version 0.1 wrote, which stored jobs have under their seal", () => {
    const text = '["acme","build","exec","LOCAL_MACHINE","OLLAMA","m",["a","b"],"s",2,1.5]';
    const facts = {
      ...queue,
      provider: "OLLAMA",
      model: "m",
      tags: ["b", "a"],
      session: "s",
      cores: 2,
      ram_gb: 1.5,
    };
    expect(queueKey(facts)).toBe(text);
    expect(queueKey(parseQueueKey(text))).toBe(text);
  });
});

describe("a worker", () => {
  const cases: [string, Partial<QueueFacts>, Partial<WorkerFacts>, string][] = [
    ["of another tenant", {}, { tenantId: "b" }, "serves another tenant"],
    ["elsewhere", { execution_location: "CLOUD" }, {}, "is at LOCAL_MACHINE"],
    ["for other types", {}, { types: ["test"] }, "does not take exec jobs of type build"],
    ["that does not name a handler", { kind: "handler" }, {}, "does not take handler jobs of type build"],
    ["without the model", { provider: "OLLAMA", model: "m" }, {}, "has no OLLAMA m"],
    ["without a tag", { tags: ["gpu", "x"] }, { tags: ["x"] }, "lacks tag gpu"],
    ["that does not run the kind", { kind: "solver" }, {}, "does not run solver jobs"],
    [
      "that cannot run processes at present (A19)",
      {},
      { kinds: [], sandboxProblem: "SANDBOX_UNAVAILABLE: no launcher" },
      "does not run exec jobs at present: SANDBOX_UNAVAILABLE: no launcher",
    ],
    [
      "that cannot run the agent",
      { kind: "delegate", agent: "roo" },
      { kinds: ["delegate"], agentProblems: [{ agent: "roo", why: "runs outside the cage" }] },
      "cannot run the agent roo, because it runs outside the cage",
    ],
    [
      "that can run none of its agents, for a job that names none",
      { kind: "delegate" },
      { kinds: [], agentProblems: [{ agent: "roo", why: "runs outside the cage" }] },
      "cannot run the agent roo, because it runs outside the cage",
    ],
    ["without the session", { session: "s" }, { sessions: ["r"] }, "has no session s"],
    ["without the container", { container: "c" }, { containers: ["d"] }, "has no container c"],
    ["that is too old", { document_format: 3 }, {}, "reads documents up to format 2, and this one has 3"],
    ["with too few cores", { cores: 5 }, {}, "has 4 cores"],
    ["with too little memory", { ram_gb: 9 }, {}, "has 8 GB of memory"],
  ];
  for (const [who, facts, parts, why] of cases) {
    it(`${who} does not fit, with the reason`, () => {
      const found = misfits({ ...queue, ...facts }, { ...worker, ...parts });
      expect(found).toEqual([why]);
      expect(fits({ ...queue, ...facts }, { ...worker, ...parts })).toBe(false);
    });
  }

  it("that cannot run processes at present still runs jobs in its containers", () => {
    const caged = {
      ...worker,
      kinds: [],
      containers: ["c"],
      sandboxProblem: "SANDBOX_UNAVAILABLE: no launcher",
    };
    expect(misfits({ ...queue, kind: "exec_per_job", container: "c" }, caged)).toEqual([]);
  });

  it("fits with exactly what is asked for", () => {
    const asked = { ...queue, kind: "handler", tags: ["gpu"], session: "s", cores: 4, ram_gb: 8 };
    const provided = {
      ...worker,
      tenantId: "acme",
      types: ["build"],
      tags: ["x", "gpu"],
      sessions: ["r", "s"],
    };
    expect(misfits(asked, provided)).toEqual([]);
    const newer = { container: "c", document_format: 2 };
    expect(misfits({ ...asked, ...newer }, { ...provided, containers: ["c"] })).toEqual([]);
  });
});
