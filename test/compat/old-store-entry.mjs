import { buildDocument } from "./src/hub/use-cases/build-document.ts";
import { openSqliteStore } from "./src/store/sqlite/open-store.ts";

// Fills a database by the old sources (see make-fixtures.mjs): a worker, and jobs that wait, with all that a queue key
// could hold. Every mac is made with the key of the tests.
const nowMs = 1_700_000_000_000;
const store = await openSqliteStore({ path: process.argv[2], macKey: Buffer.alloc(32, 7) });
const submissions = [
  { type: "plain", run: { kind: "exec", argv: ["true"] } },
  { type: "greet", params: { name: "Ada" } },
  {
    type: "picky",
    run: { kind: "exec", argv: ["true"] },
    requires: { tags: ["gpu", "big"], session: "tmux:one", cores: 2, ram_gb: 1.5 },
  },
  { type: "solve", solver_url: "https://example.org/solver", solver_checksum: "a".repeat(64) },
];
const jobs = submissions.map((submission, index) =>
  buildDocument(
    submission,
    { tenantId: "acme", userId: "ada" },
    { jobId: `00000000-0000-7000-8000-00000000000${index + 1}`, nowMs },
  ),
);
await store.submitJobs({ jobs, maxPending: null, origin: null });
const facts = {
  tenantId: null,
  location: "LOCAL_MACHINE",
  cores: 4,
  ramGb: 8,
  tags: ["big", "gpu"],
  types: [],
  handlerTypes: ["greet"],
  capabilities: [],
};
const worker = { name: null, slots: 2, keyIds: [], publicKey: null, version: "0.1.0" };
for (const [id, session] of [
  ["with-session", "tmux:one"],
  ["without", null],
]) {
  await store.registerWorker({
    worker: { ...worker, id, facts: { ...facts, session } },
    nowMs,
    origin: null,
  });
}
await store.close();
