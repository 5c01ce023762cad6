import { type Egress, type EgressTarget, parseEgressTarget } from "../../core/egress.ts";
import type { Limits } from "../../core/limits.ts";
import { Turns } from "../../runtime/clock/turns.ts";
import { systemNetwork } from "../../runtime/guarded-fetch/guarded-lookup.ts";
import type { Isolation, LaunchPlan, RunningProcess, Usage } from "../../sandbox/sandbox.ts";
import type { RunContext, RunnerDeps, RunnerSettings } from "../runner.ts";
import { EgressProxy } from "./egress-proxy.ts";
import type { EgressRules } from "./egress-rules.ts";
import { NetworkLog } from "./network-log.ts";
import { readInjections } from "./read-injections.ts";

/** The closed network of one process. */
type ClosedNetwork = {
  /** The plan of a process that has this network, and is told of its way out. */
  inPlan(plan: LaunchPlan): LaunchPlan;
  /** The process, whose network ends with it and is part of what is reported of it. */
  watch(running: RunningProcess): RunningProcess;
  /** When no process was started. */
  end(): void;
};

type Asked = {
  limits: Pick<Limits, "network">;
  /** What the entry of the coding agent allows. */
  agent: Egress | undefined;
};

/** In the job's own network, so that it can collide only with the job. */
const proxyPort = 3128;
/** Threads in which names are resolved belong to the whole process, which also reads and writes files in them. */
const lookupsAtOnce = 2;
const workerLookups = new Turns(lookupsAtOnce);

/**
 * What a process with a closed network needs; null if its network is another one. Throws a RunFailure if the job asks for a key
 * that it cannot have. Why: ADR 0120.
 */
export async function closeNetwork(
  deps: RunnerDeps,
  { document, lease, secrets }: Pick<RunContext, "document" | "lease" | "secrets">,
  { limits, agent }: Asked,
): Promise<ClosedNetwork | null> {
  if (limits.network !== "closed") return null;
  const { settings, clock, logger, outside = { network: systemNetwork } } = deps;
  const allow = allowLists(settings, document.egress, agent);
  const inject = [...new Set([...(document.egress?.inject ?? []), ...(agent?.inject ?? [])])];
  const injections = await readInjections(settings.secrets, inject, document.tenant_id);
  const { job_id, attempt } = lease;
  const log = new NetworkLog((host, why) =>
    logger.info(
      { job_id, attempt, host: secrets.maskMessage(host), why },
      "a closed network has denied a connection",
    ),
  );
  const over = new AbortController();
  const proxy = new EgressProxy({
    rules: rulesOf(allow),
    network: outside.network,
    ca: outside.ca,
    clock,
    lookups: { worker: workerLookups, job: new Turns(1) },
    log,
    injections,
    signal: over.signal,
  });
  const asked = { allow: [...(allow.lists[0] ?? [])], ...(inject.length === 0 ? {} : { inject }) };
  return {
    inPlan: (plan) => ({
      ...plan,
      env: { ...proxyEnvironment, ...plan.env },
      listener: { port: proxyPort, take: (server) => proxy.serve(server) },
    }),
    watch: (running) => watched(running, { log, asked, over }),
    end: () => over.abort(),
  };
}

/** `lists`: the narrowest first; a host must be in all of them. */
type AllowLists = { lists: readonly (readonly string[])[]; ceiling: readonly string[] };

/**
 * A worker without a list of its own lets a job reach the public hosts that the job names, as it could with the host's network;
 * but not if its ceiling keeps jobs from that.
 */
function allowLists(
  settings: RunnerSettings,
  job: Egress | undefined,
  agent: Egress | undefined,
): AllowLists {
  const { egress, maxLimits } = settings;
  const mayHaveHost = (maxLimits.network ?? "host") === "host";
  const ceiling = egress?.allow ?? (mayHaveHost ? undefined : []);
  const lists = [job?.allow, agent?.allow, ceiling].filter((list) => list !== undefined);
  return { lists: lists.length === 0 ? [[]] : lists, ceiling: ceiling ?? [] };
}

function rulesOf({ lists, ceiling }: AllowLists): EgressRules {
  return { lists: lists.map(targetsOf), ceiling: targetsOf(ceiling) };
}

/** What cannot be read, allows nothing. */
function targetsOf(list: readonly string[]): EgressTarget[] {
  return list.map(parseEgressTarget).filter((target) => target !== null);
}

/** Programs disagree about upper and lower case. Its own servers a job reaches without the proxy. */
const proxyUrl = `http://127.0.0.1:${proxyPort}`;
const noProxy = "localhost,127.0.0.1,::1";
const proxyEnvironment = {
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  ALL_PROXY: proxyUrl,
  NO_PROXY: noProxy,
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  all_proxy: proxyUrl,
  no_proxy: noProxy,
  // Without it, Node's own fetch looks at none of these.
  NODE_USE_ENV_PROXY: "1",
};

type Watched = { log: NetworkLog; asked: { allow: string[]; inject?: string[] }; over: AbortController };

function watched(running: RunningProcess, { log, asked, over }: Watched): RunningProcess {
  const withUse = (usage: Usage): Usage => ({ ...usage, network: log.use });
  const exited = running.exited.then((exit) => {
    over.abort();
    return { ...exit, usage: withUse(exit.usage) };
  });
  return {
    get pid() {
      return running.pid;
    },
    exited,
    get isolation(): Isolation {
      return { ...running.isolation, network: { ...asked, ...log.record } };
    },
    usage: () => withUse(running.usage()),
    pids: () => running.pids(),
    signalGroup: (signal) => running.signalGroup(signal),
    killTree: () => running.killTree(),
  };
}
