/**
 * Which test files run a second time, with the databases of their hubs in PostgreSQL. Every file in the folders of
 * `foldersOnBoth` is here or there, except those that start PostgreSQL themselves; a test compares.
 */

export const foldersOnBoth = ["test/http", "test/hub", "test/faults", "test/e2e"];

/** They share a process with others. */
export const fastOnPostgres = [
  "test/http/!(body-refusals|clock-jumps|frame-faults|incomplete-output).test.ts",
];

/** They share the machine. */
export const onPostgres = [
  "test/hub/cut-off-worker.test.ts",
  "test/hub/fleet-cli.test.ts",
  "test/hub/function-worker.test.ts",
  "test/hub/hand-over.test.ts",
  "test/hub/jobs-cli.test.ts",
  "test/hub/large-bodies.test.ts",
  "test/hub/lost-leases.test.ts",
  "test/hub/recover.test.ts",
  "test/hub/revoked-worker.test.ts",
  "test/hub/schedule-hazards.test.ts",
  "test/hub/stopping.test.ts",
  "test/hub/wake-ups.test.ts",
  "test/hub/webhook-hazards.test.ts",
  "test/hub/worker-limits.test.ts",
  "test/hub/worker-notices.test.ts",
  "test/hub/worker-owners.test.ts",
];

/** They kill hubs and workers under load. */
export const heavyOnPostgres = [
  "test/e2e/hub-restart.test.ts",
  "test/e2e/worker-drain.test.ts",
  "test/faults/hub-kill.test.ts",
  "test/faults/worker-kill.test.ts",
];

/** Why the others run on SQLite only. */
export const notOnPostgres: Record<string, string> = {
  "test/e2e/bundle-loader.test.ts": "starts no hub",
  "test/e2e/hub-away.test.ts": "about the worker's patience; hub-restart asks the same of the database",
  "test/e2e/jobctl-restart.test.ts": "about the client; hub-restart asks the same of the database",
  "test/e2e/jobctl.test.ts": "about the command line; the calls behind it are in test/http",
  "test/e2e/ordinary-user.test.ts": "about files and rights of the first steps, which use SQLite",
  "test/e2e/up.test.ts": "about the first steps, which use SQLite",
  "test/faults/three-hubs.test.ts": "has a server of its own",
  "test/faults/full-disk.test.ts": "fills the disk of the SQLite file",
  "test/faults/full-home.test.ts": "fills the disk of the SQLite file",
  "test/faults/mqtt-broker.test.ts": "about the broker",
  "test/faults/power-cut.test.ts": "replays what SQLite wrote to its file",
  "test/http/body-refusals.test.ts": "bodies are refused before the database is asked",
  "test/http/clock-jumps.test.ts":
    "about the system's clock; with PostgreSQL hubs go by that of the database",
  "test/http/frame-faults.test.ts":
    "lets the hub's own clock pass; with PostgreSQL hubs go by that of the database, and frame-routes asks the same of both",
  "test/http/incomplete-output.test.ts": "shortens files of outputs, which are rows in PostgreSQL",
  "test/hub/browser-client.test.ts": "about the client",
  "test/hub/completion.test.ts": "about the command line",
  "test/hub/delegate-cli.test.ts": "about the command line",
  "test/hub/durable-output.test.ts": "about files of outputs; a row is durable when its append is answered",
  "test/hub/execution-time.test.ts":
    "moves the hub's own clock; with PostgreSQL hubs go by that of the database",
  "test/hub/files.test.ts": "ages rows of the SQLite file; the calls are in test/http/files.test.ts",
  "test/hub/framed-clients.test.ts": "about connections, proxies and TLS between client and hub",
  "test/hub/full-disk.test.ts": "about the disk of the home, and what doctor asks",
  "test/hub/keys-cli.test.ts": "about keys, which are files",
  "test/hub/killed-commands.test.ts": "about the copies of the SQLite file that commands leave",
  "test/hub/local-address.test.ts": "about addresses",
  "test/hub/lost-database.test.ts": "removes and replaces the SQLite file",
  "test/hub/mcp-clients.test.ts": "about clients; test/http asks the same of both databases",
  "test/hub/one-hub.test.ts": "about the lock of the SQLite file",
  "test/hub/open-cli.test.ts": "about the command line",
  "test/hub/read-only-home.test.ts": "about the SQLite file of a home that is mounted read-only",
  "test/hub/schedule-zones.test.ts": "reckons times, and starts no hub",
  "test/hub/schedules-cli.test.ts":
    "about the command line; schedule-hazards asks the same of both databases",
  "test/hub/several-addresses.test.ts": "about clients and cables",
  "test/hub/hooks-cli.test.ts": "about the command line; test/http asks the same of both databases",
  "test/hub/webhooks-cli.test.ts": "about the command line; webhook-hazards asks the same of both databases",
  "test/hub/silent-workers.test.ts":
    "lets the hub's own clock pass; with PostgreSQL hubs go by that of the database, and the contract suite has the acts",
  "test/hub/skills-cli.test.ts": "about the command line",
  "test/hub/storage.test.ts": "edits rows of the SQLite file; the contract suite has the same acts on both",
  "test/hub/tracing.test.ts": "about spans, some of which are those of the SQLite thread",
  "test/hub/work-logs.test.ts": "about the logs of hub and worker",
  "test/hub/wrong-address.test.ts": "about addresses",
};
