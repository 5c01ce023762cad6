import { readFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { codeOf, WritError } from "../core/errors.ts";
import { defaultTenant } from "../core/identity.ts";
import { type ExecutionLocation, executionLocations } from "../core/jobs/document.ts";
import type { RunnersSettings } from "../runners/create-runners.ts";
import type { RunnerSettings } from "../runners/runner.ts";
import { parseAllowedHost } from "../runtime/guarded-fetch/allowed-host.ts";
import { listHubAddresses } from "../runtime/hubs/hub-address.ts";
import { homeOfUser } from "../runtime/settings/home.ts";
import {
  boolean,
  integer,
  jsonList,
  loadSettings,
  number,
  oneOf,
  parser,
  text,
} from "../runtime/settings/settings.ts";
import { otlpEndpoint } from "../runtime/telemetry/telemetry-settings.ts";
import { loadVerifyingKey } from "../signing/ed25519.ts";
import { pemFromText } from "../signing/pem-text.ts";
import type { AgentsFile } from "./agents-file/agents-shape.ts";
import { delegateSettings } from "./agents-file/delegate-settings.ts";
import { loadAgentsFile } from "./agents-file/load-agents-file.ts";

export type WorkerSettings = RunnersSettings & {
  hubUrls: string[];
  token: string;
  ca: string | undefined;
  allowInsecure: boolean;
  /** Whether calls may go in frames on one upgraded connection. */
  frames: boolean;
  /** In PEM. If empty, the hub's keys of the first connection are trusted for as long as the worker runs. */
  signingKeys: string[];
  workerId: string;
  name: string | undefined;
  /** False: registers and pushes metrics, but claims nothing. */
  enabled: boolean;
  location: ExecutionLocation;
  cores: number;
  ramGb: number;
  tags: string[];
  types: string[];
  slots: number;
  sessions: string[];
  capabilities: NonNullable<AgentsFile["capabilities"]>;
  pollIntervalMs: number;
  heartbeatMs: number;
  pushIntervalMs: number;
  requestTimeoutMs: number;
  drainMs: number;
  /** How long jobs continue while no hub can be reached. */
  hubAwayMs: number;
  /** The collector of spans and its headers; null for none. */
  otlpEndpoint: string | null;
  otlpHeaders: string | null;
  workDir: string;
  execution: NonNullable<AgentsFile["execution"]>;
  logging: NonNullable<AgentsFile["logging"]>;
};

type SettingsSources = {
  configFile?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  hostName: string;
};

const dayMs = 86_400_000;
const workerName = text({
  pattern: /^[A-Za-z0-9._:@-]{1,100}$/,
  allowed: "1 to 100 letters, digits, . _ : @ or -",
});

const hostList = parser('a JSON list of hosts such as ["files.example","10.0.0.5:8080"]', (value) => {
  const hosts = jsonList()(value);
  return hosts?.every((host) => parseAllowedHost(host) !== null) ? hosts : undefined;
});

const declarations = {
  hubUrl: { name: "HUB_URL", parse: text(), default: undefined },
  token: { name: "WRIT_TOKEN", parse: text(), default: undefined, isSecret: true },
  caFile: { name: "WRIT_CA_FILE", parse: text(), default: undefined },
  allowInsecure: { name: "WRIT_ALLOW_INSECURE", parse: boolean(), default: false },
  frames: { name: "WRIT_FRAMES", parse: boolean(), default: true },
  signingKeysFile: { name: "WRIT_SIGNING_KEYS_FILE", parse: text(), default: undefined },
  workerId: { name: "NODE_ID", parse: workerName, default: undefined },
  name: { name: "NODE_NAME", parse: text(), default: undefined },
  enabled: { name: "WORKER_ENABLED", parse: boolean(), default: true },
  location: { name: "WORKER_LOCATION", parse: oneOf(executionLocations), default: undefined },
  cores: { name: "WORKER_CORES", parse: integer({ min: 1, max: 4096 }), default: undefined },
  ramGb: { name: "WORKER_RAM_GB", parse: number({ min: 0, max: 1_048_576 }), default: undefined },
  tags: { name: "WORKER_TAGS", parse: jsonList(), default: undefined },
  types: { name: "WORKER_TYPES", parse: jsonList(), default: undefined },
  slots: { name: "WORKER_SLOTS", parse: integer({ min: 1, max: 10_000 }), default: undefined },
  pollIntervalMs: {
    name: "JOB_POLL_INTERVAL_MS",
    parse: integer({ min: 10, max: 3_600_000 }),
    default: undefined,
  },
  heartbeatMs: { name: "JOB_HEARTBEAT_MS", parse: integer({ min: 10, max: 3_600_000 }), default: undefined },
  pushIntervalMs: { name: "PUSH_INTERVAL_MS", parse: integer({ min: 100, max: 3_600_000 }), default: 5_000 },
  drainMs: { name: "WRIT_DRAIN_MS", parse: integer({ min: 0, max: dayMs }), default: 30_000 },
  hubAwayMs: { name: "WRIT_HUB_AWAY_MS", parse: integer({ min: 0, max: dayMs }), default: 600_000 },
  stopGraceMs: { name: "WRIT_STOP_GRACE_MS", parse: integer({ min: 0, max: 600_000 }), default: 5_000 },
  outputBytesMax: {
    name: "WRIT_MAX_OUTPUT_BYTES",
    parse: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    default: 1024 ** 3,
  },
  workDir: { name: "WRIT_WORK_DIR", parse: text(), default: undefined },
  solverCacheDir: { name: "SOLVER_CACHE_DIR", parse: text(), default: undefined },
  solverCacheBytesMax: {
    name: "SOLVER_CACHE_MAX_BYTES",
    parse: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    default: 10 * 1024 ** 3,
  },
  solverBytesMax: {
    name: "SOLVER_MAX_BYTES",
    parse: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    default: 1024 ** 3,
  },
  solverHosts: { name: "SOLVER_HOSTS", parse: hostList, default: undefined },
  otlpEndpoint: { name: "OTEL_EXPORTER_OTLP_ENDPOINT", parse: otlpEndpoint, default: null },
  otlpHeaders: { name: "OTEL_EXPORTER_OTLP_HEADERS", parse: text(), default: null, isSecret: true },
} as const;

/**
 * From agents.yaml, or from the environment alone. The file overrides the environment: other programs also read HUB_URL
 * and WRIT_TOKEN, and a token that was meant for one of them must not replace the worker's own.
 */
export async function loadWorkerSettings(sources: SettingsSources): Promise<WorkerSettings> {
  const { configFile, home, hostName } = sources;
  const env = loadSettings(declarations, { env: sources.env });
  const userHome = homeOfUser(sources.env);
  const file = configFile === undefined ? undefined : await loadAgentsFile(configFile, userHome);
  const server = file?.server;
  const execution = file?.execution ?? {};
  const cores = env.cores ?? availableParallelism();
  const hubUrls = hubUrlsOf(server?.url ?? env.hubUrl);
  const ca =
    server?.ca ??
    (await readNamed("server.ca_file", server?.ca_file)) ??
    (await readNamed("WRIT_CA_FILE", env.caFile));
  return {
    hubUrls,
    token: server?.worker_token ?? env.token ?? missing("WRIT_TOKEN", "a worker's token"),
    ca,
    allowInsecure: env.allowInsecure,
    frames: env.frames,
    signingKeys: checkKeys(keysInFile(file) ?? (await keysInPemFile(env.signingKeysFile))),
    workerId: server?.worker_id ?? env.workerId ?? idFromHostName(hostName),
    name: server?.name ?? env.name,
    enabled: env.enabled,
    location: server?.location ?? env.location ?? "LOCAL_MACHINE",
    cores,
    ramGb: env.ramGb ?? Math.round((totalmem() / 1024 ** 3) * 10) / 10,
    tags: server?.tags ?? env.tags ?? [],
    types: server?.types ?? env.types ?? [],
    slots: execution.slots ?? env.slots ?? cores,
    sessions: sessionsOf(execution.agents ?? []),
    capabilities: file?.capabilities ?? [],
    pollIntervalMs: toMs(server?.poll_interval) ?? env.pollIntervalMs ?? 5_000,
    heartbeatMs: toMs(server?.heartbeat_interval) ?? env.heartbeatMs ?? 10_000,
    pushIntervalMs: env.pushIntervalMs,
    requestTimeoutMs: toMs(server?.timeout) ?? 30_000,
    drainMs: env.drainMs,
    hubAwayMs: env.hubAwayMs,
    stopGraceMs: env.stopGraceMs,
    outputBytesMax: env.outputBytesMax,
    otlpEndpoint: env.otlpEndpoint,
    otlpHeaders: env.otlpHeaders,
    workDir: resolve(env.workDir ?? join(home, "work")),
    solverCacheDir: resolve(env.solverCacheDir ?? join(home, "solvers")),
    solverCacheBytesMax: env.solverCacheBytesMax,
    // A solver larger than the cache would remove all others, and still not fit.
    solverBytesMax: Math.min(env.solverBytesMax, env.solverCacheBytesMax),
    solverHosts: execution.solver_hosts ?? env.solverHosts ?? [],
    ...executionOf(execution),
    delegate: delegateSettings(file, { env: sources.env, home }),
    containers: {
      byName: execution.containers ?? {},
      env: containerEnvironment(sources.env),
      hubUrl: hubUrls[0]!,
      ca,
    },
    execution,
    logging: file?.logging ?? {},
  };
}

function executionOf(execution: NonNullable<AgentsFile["execution"]>) {
  const secrets = Object.entries(execution.secrets ?? {}).map(
    ([name, { file, tenants = [defaultTenant], inject }]) => [
      name,
      { file, tenants, ...(inject === undefined ? {} : { inject }) },
    ],
  );
  return {
    limits: execution.limits ?? {},
    maxLimits: execution.max_limits ?? {},
    handlers: execution.handlers ?? {},
    secrets: Object.fromEntries(secrets) as RunnerSettings["secrets"],
    egress: execution.egress,
  };
}

/**
 * The variables that docker, podman, kubectl and similar programs read. `nsenter` passes the environment on to the job,
 * so it has no others.
 */
const containerVariables =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|TMPDIR|SSH_AUTH_SOCK|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS|KUBECONFIG|(?:DOCKER|CONTAINERS?|PODMAN)_[A-Z_]+)$/;

function containerEnvironment(env: SettingsSources["env"]): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && containerVariables.test(entry[0]),
  );
  return Object.fromEntries(entries);
}

function sessionsOf(agents: readonly { session?: string }[]): string[] {
  return [...new Set(agents.flatMap(({ session }) => session ?? []))];
}

/** An address that would be used without encryption is refused when the worker connects; `writ doctor` explains it. */
function hubUrlsOf(given: string | string[] | undefined): string[] {
  if (given === undefined)
    return missing("HUB_URL", "the address of the hub, such as https://hub.example:3000");
  const urls = typeof given === "string" ? given : given.flatMap((urls) => urls.split(","));
  return listHubAddresses(urls, { allowInsecure: true });
}

function keysInFile(file: AgentsFile | undefined): string[] | undefined {
  const { job_signing_public_key: one, job_signing_public_keys: several } = file?.security ?? {};
  return several ?? (one === undefined ? undefined : [one]);
}

async function keysInPemFile(path: string | undefined): Promise<string[]> {
  const pem = await readNamed("WRIT_SIGNING_KEYS_FILE", path);
  if (pem === undefined) return [];
  const keys = pemFromText(pem).match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g);
  // An empty file must not silently mean "trust whatever the hub shows".
  if (keys === null)
    throw new WritError("CONFIG_INVALID", `WRIT_SIGNING_KEYS_FILE: ${path} contains no public key`);
  return [...keys];
}

/** Refuses an unusable key at the start and not when the first job arrives. */
function checkKeys(pems: string[]): string[] {
  for (const pem of pems) loadVerifyingKey(pem);
  return pems;
}

async function readNamed(setting: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new WritError("CONFIG_INVALID", `${setting}: ${path} cannot be read: ${codeOf(error)}`, {
      setting,
    });
  }
}

function idFromHostName(hostName: string): string {
  return hostName.replaceAll(/[^A-Za-z0-9._:@-]/g, "-").slice(0, 100) || "worker";
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}

/** There is no agents.yaml, which would have both; most workers have one that the hub has made. */
function missing(setting: string, what: string): never {
  const file =
    "start with the file that `writ workers add NAME` makes at the hub: `writ worker --config agents.yaml`";
  throw new WritError("CONFIG_INVALID", `${setting} is not set; set it to ${what}, or ${file}`, { setting });
}
