import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RouteName } from "../../src/contract/routes/routes.ts";
import { type Example, examples, type World } from "../http/route-examples.ts";
import { routeNames, routeOf, send } from "../http/send-example.ts";
import { placesIn, replaced, type Step } from "../http/wrong-bodies.ts";
import type { Answer } from "../support/call-http.ts";
import { stillEnv } from "../support/hub.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { issueTokens } from "../support/tokens.ts";

const requestsMax = 1_000;

const hostile: Record<string, unknown> = {
  "a NUL": "a\0b",
  "the escape of a NUL": "\\u0000",
  SQL: "'; DROP TABLE jobs; --",
  "what LIKE reads": "%_!\\",
  "odd characters": "\u{1F600}\uFFFF\u202E\u00e9",
  "a long text": "\u00e9".repeat(1_000),
  "no text": "",
  "a large number": 2 ** 53 - 1,
  "2^31": 2 ** 31,
  "a negative number": -1,
  "an object with a NUL": { "a\0b": "\0" },
  "a list with a NUL": ["\0"],
};

/** They answer with the name of the database, with series of times or with a stream; a lockdown would stop the others. */
const leftOut: RouteName[] = [
  ...(["listSettings", "listHubs", "readStatistics"] as const),
  ...(["streamEvents", "streamCommands", "lockDown"] as const),
];

/** These change what the examples of all others depend on, so they come last. */
const last: RouteName[] = [
  "putQuota",
  "setQueuePaused",
  "rotateKeys",
  "revokeKey",
  "revokeCert",
  "verifyAudit",
];

type HostileRequest = { name: RouteName; place: Step[]; what: string };

describe.skipIf(noPostgres !== undefined)("both stores", () => {
  const worlds: World[] = [];
  let cluster: PostgresCluster;

  beforeAll(async () => {
    cluster = await PostgresCluster.start({ prefix: "writ-same-answers-", settings: ["fsync=off"] });
    await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE same"));
    const onPostgres: Record<string, string> = { WRIT_DATABASE_URL: cluster.url("same") };
    for (const env of [{}, onPostgres]) {
      const hub = await startMemoryHub({ ...stillEnv, ...env });
      worlds.push({ hub, tokens: await issueTokens(hub) });
    }
  });

  afterAll(async () => {
    for (const { hub } of worlds) await hub.stop();
    await cluster.stop();
  });

  test(`O-09: give the same answers to the same ${requestsMax} hostile requests`, async () => {
    const differences: unknown[] = [];
    const compare = async (about: object, ask: (world: World, index: number) => Promise<Answer>) => {
      const answers = await Promise.all(worlds.map(ask));
      const [sqlite, postgres] = answers.map(plain);
      if (sqlite !== postgres) differences.push({ ...about, sqlite, postgres });
      return answers[0]!.status;
    };
    let sent = 0;
    for (const [name, requests] of await chooseRequests(worlds)) {
      let made: Example[] | null = null;
      for (const request of requests) {
        made ??= await makeExamples(worlds, name);
        const given = made.map(
          (example) => replaced(example, request.place, hostile[request.what]) as Example,
        );
        const sendGiven = ({ hub }: World, index: number) => sendHostile(hub, name, given[index]!);
        const status = await compare(request, sendGiven);
        sent++;
        if (routeOf(name).method === "GET" || status >= 300) continue;
        // It was accepted, so it may have changed what the next call finds, and have used up the example.
        await compare({ ...request, again: true }, sendGiven);
        const looks = given.map(pathsAbout);
        for (const [n, path] of looks[0]!.entries())
          await compare({ ...request, path }, ({ hub }, index) =>
            hub.call("GET", looks[index]![n]!, { token: hub.admin }),
          );
        made = null;
      }
    }
    expect(differences).toEqual([]);
    expect(sent).toBe(requestsMax);
  });
});

/** A NUL in every place; the other values evenly chosen among all places. */
async function chooseRequests(worlds: World[]): Promise<Map<RouteName, HostileRequest[]>> {
  const names = [...routeNames.filter((name) => !last.includes(name)), ...last].filter(
    (name) => !leftOut.includes(name),
  );
  const all: HostileRequest[] = [];
  for (const name of names) {
    const [{ params = {}, query = {}, body }] = (await makeExamples(worlds, name)) as [Example];
    const places = placesIn({ params, query, ...(isJson(body) ? { body } : {}) }).filter(
      ([, second]) => second !== undefined,
    );
    for (const place of places) for (const what of Object.keys(hostile)) all.push({ name, place, what });
  }
  const [nuls, others] = [
    all.filter(({ what }) => what === "a NUL"),
    all.filter(({ what }) => what !== "a NUL"),
  ];
  const left = requestsMax - nuls.length;
  const some = Array.from({ length: left }, (_, n) => others[Math.floor((n * others.length) / left)]!);
  const chosen = all.filter((request) => request.what === "a NUL" || some.includes(request));
  return Map.groupBy(chosen, ({ name }) => name);
}

/** In every world, so that all of them contain the same. */
function makeExamples(worlds: World[], name: RouteName): Promise<Example[]> {
  return Promise.all(worlds.map((world) => examples[name](world)));
}

function isJson(body: unknown): boolean {
  return typeof body === "object" && !(body instanceof Uint8Array);
}

function sendHostile(
  hub: World["hub"],
  name: RouteName,
  { params, query, ...example }: Example,
): Promise<Answer> {
  const texts = (given: object | undefined) =>
    Object.fromEntries(Object.entries(given ?? {}).map(([key, value]) => [key, asText(value)]));
  return send(hub, name, { ...example, params: texts(params), query: texts(query) });
}

/** Where to look at the worker and the job that a request is about. */
function pathsAbout({ params, body }: Example): string[] {
  const { worker_id: workerId, job_id: jobId = params?.["id"] } = (body ?? {}) as Record<string, unknown>;
  const found = [`/workers/${workerId}`, `/jobs/${jobId}`];
  return found.filter((path) => /^\/\w+\/[\w-]+$/.test(path) && !path.includes("undefined"));
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Each hub makes its own ids, secrets and times: those of an answer are numbered, each name as often as it occurs. */
function plain({ status, headers, text }: Answer): string {
  if (!/json|text/.test(headers["content-type"] ?? "")) return `${status}`;
  const known = new Map<string, number>();
  const numbered = (name: string) => {
    if (/^\d{13}(\.\d+)?$|T\d\d:/.test(name)) return "TIME";
    if (!known.has(name)) known.set(name, known.size);
    return `NAME${known.get(name)}`;
  };
  const lasting = text.replace(/"request_id":"[^"]+"|"execution_time_ms":\d+/, "");
  return `${status} ${lasting.replaceAll(ownNames, numbered)}`;
}

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const isoTime = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z";
const ownNames = new RegExp(
  `${isoTime}|${uuid}|[a-z]+-${process.pid}-\\d+|[A-Za-z0-9_+/=-]{20,}|\\b\\d{13}(\\.\\d+)?\\b`,
  "g",
);
