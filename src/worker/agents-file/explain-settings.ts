import { resolve } from "node:path";
import type { LimitsText } from "../../core/limits.ts";
import { formatBytes } from "../../core/text/format-bytes.ts";
import { isLoopback } from "../../runtime/hubs/hub-address.ts";
import { loadVerifyingKey } from "../../signing/ed25519.ts";
import type { WorkerSettings } from "../settings.ts";
import { explainAgents } from "./explain-agents.ts";
import { type Meaning, ok, seconds, warning } from "./meaning.ts";

/** Explains what a worker with these settings does, without its token and its secrets. */
export async function explainSettings(settings: WorkerSettings, home: string): Promise<Meaning[]> {
  return [
    ...explainHub(settings),
    explainWorker(settings),
    explainKeys(settings),
    ...explainJobs(settings),
    ...explainLimits(settings),
    ...explainSecrets(settings),
    ...(await explainAgents(settings)),
    explainLog(settings, home),
  ];
}

function explainHub(settings: WorkerSettings): Meaning[] {
  const { hubUrls, ca, pollIntervalMs, heartbeatMs, requestTimeoutMs } = settings;
  const authority = ca === undefined ? "an authority that the system trusts" : "the given authority";
  const isTls = hubUrls.some((url) => url.startsWith("https:"));
  const trust = isTls ? `, whose certificate must be signed by ${authority}` : "";
  const times = [
    `a call may take ${seconds(requestTimeoutMs)}`,
    `leases are renewed every ${seconds(heartbeatMs)}`,
    `after a claim that failed it waits ${seconds(pollIntervalMs)}`,
  ];
  const hub = ok("hub", `gets its jobs from ${hubUrls.join(" or ")}${trust}; ${times.join(", ")}`);
  return [hub, ...doubtsAboutHub(settings)];
}

function doubtsAboutHub({ hubUrls, allowInsecure, token }: WorkerSettings): Meaning[] {
  const open = hubUrls.filter((url) => {
    const { protocol, hostname = "" } = URL.parse(url) ?? {};
    return protocol === "http:" && !isLoopback(hostname) && !allowInsecure;
  });
  const unencrypted = `${open.join(", ")} would get the token unencrypted, so the worker does not start; use https://`;
  const foreign = "is not a token of a worker (sk_worker_…); `writ workers add NAME` writes a file with one";
  return [
    ...(open.length > 0 ? [warning("hub", unencrypted)] : []),
    ...(token.startsWith("sk_worker_") ? [] : [warning("token", foreign)]),
  ];
}

function explainWorker({ workerId, name, location, cores, ramGb, tags, sessions }: WorkerSettings): Meaning {
  const called = name === undefined ? "" : ` (${name})`;
  const has = [`${cores} cores`, `${ramGb} GB`, ...(tags.length > 0 ? [`tags ${tags.join(", ")}`] : [])];
  const rooms = sessions.length > 0 ? `; it serves the sessions ${sessions.join(", ")}` : "";
  return ok("worker", `registers as ${workerId}${called} at ${location} with ${has.join(", ")}${rooms}`);
}

function explainKeys({ signingKeys }: WorkerSettings): Meaning {
  if (signingKeys.length === 0) {
    const advice = "`writ workers add NAME` writes a file with the hub's keys";
    return warning("keys", `none are given, so it trusts those that the hub shows at the start; ${advice}`);
  }
  const ids = signingKeys.map((pem) => loadVerifyingKey(pem).keyId);
  return ok(
    "keys",
    `runs only what was signed with the key ${ids.join(" or ")}, or a key that it vouches for`,
  );
}

function explainJobs({
  enabled,
  slots,
  types,
  handlers,
  containers,
  solverHosts,
}: WorkerSettings): Meaning[] {
  if (!enabled) return [warning("jobs", "takes none: WORKER_ENABLED is false")];
  const which = types.length === 0 ? "jobs of all types" : `jobs of the types ${types.join(", ")}`;
  const commands = Object.entries(handlers).map(([type, command]) => `${type} by \`${command.join(" ")}\``);
  const names = Object.keys(containers?.byName ?? {});
  return [
    ok("jobs", `takes ${which}, at most ${slots} at once`),
    ...(commands.length > 0 ? [ok("handlers", `runs jobs of type ${commands.join(", ")}`)] : []),
    ...(names.length > 0 ? [ok("containers", `leads jobs into ${names.join(", ")}`)] : []),
    ...(solverHosts.length > 0 ? [ok("solvers", `may come from ${solverHosts.join(", ")} too`)] : []),
  ];
}

function explainLimits(settings: WorkerSettings): Meaning[] {
  const { execution, limits, maxLimits } = settings;
  const { isolation, visible_paths: visible = [] } = execution;
  const level = {
    strict: "a process runs only in a whole cage; where a part is missing, none runs",
    "best-effort": "a process runs with what this machine has of a cage, and its record says what that was",
    none: "processes are not isolated; they run as the worker's user, never as root",
  };
  const chosen =
    isolation === undefined
      ? "strict where this machine has everything that a cage needs, else best-effort"
      : `${isolation}: ${level[isolation]}`;
  return [
    isolation === "none" ? warning("isolation", chosen) : ok("isolation", chosen),
    ok("limits", limitsText(limits, maxLimits)),
    explainEgress(settings),
    ...(visible.length > 0 ? [ok("files", `jobs can read ${visible.join(", ")}`)] : []),
  ];
}

function explainEgress({ egress, maxLimits }: WorkerSettings): Meaning {
  const { network = "host" } = maxLimits;
  if (network === "none") return ok("network", "no job reaches anything");
  const hosts = egress?.allow.join(", ") || "nothing";
  if (egress !== undefined) return ok("network", `a job with a closed network reaches at most ${hosts}`);
  if (network === "host")
    return ok("network", "a job with a closed network reaches the public hosts that it names");
  const advice = "name hosts under execution.egress.allow";
  return warning("network", `every job has a closed network, and none reaches anything; ${advice}`);
}

function limitsText(limits: LimitsText, maxLimits: LimitsText): string {
  const [defaults, ceiling] = [limits, maxLimits].map((some) =>
    Object.entries(some).map(([name, value]) => `${name} ${value}`),
  ) as [string[], string[]];
  const given = defaults.length === 0 ? "none" : defaults.join(", ");
  const most =
    ceiling.length === 0 ? "a job gets what it asks for" : `no job gets more than ${ceiling.join(", ")}`;
  return `a job that asks for no limits gets ${given}; ${most}`;
}

function explainSecrets({ secrets }: WorkerSettings): Meaning[] {
  return Object.entries(secrets).map(([name, { file, tenants, inject }]) => {
    const whose = tenants.length === 0 ? "nobody" : `jobs of ${tenants.join(", ")}`;
    const where =
      inject === undefined ? "" : `, in the header ${inject.header} of requests to ${inject.host} only`;
    const says = `${name}, in ${file}, is for ${whose}${where}`;
    return tenants.length === 0 ? warning("secrets", says) : ok("secrets", says);
  });
}

function explainLog({ logging }: WorkerSettings, home: string): Meaning {
  const { level = "INFO", format = "json", max_size_bytes = 10 * 1024 ** 2, backup_count = 5 } = logging;
  const file = resolve(home, logging.file ?? "logs/worker.log");
  const form = format === "json" ? "lines of JSON" : `lines as ${format}`;
  const size = formatBytes(max_size_bytes);
  return ok(
    "log",
    `${file} gets ${form}, from level ${level} on; at ${size} it is renamed, and ${backup_count} old ones are kept`,
  );
}
