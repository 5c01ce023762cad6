import { z } from "zod";
import {
  text as boundedText,
  containerName,
  integer,
  jobType,
  tag,
  workerId,
} from "../../contract/shapes/fields.ts";
import { agentEgress, limits, workerEgress } from "../../contract/shapes/run-shapes.ts";
import { executionLocations, providers } from "../../core/jobs/document.ts";
import { absolutePathProblem, relativePathProblem } from "../../core/path-rules.ts";
import { protocols } from "../../runners/delegate/protocols/protocol.ts";
import { formatPlace, injectHost } from "../../runners/egress/read-injections.ts";
import { parseAllowedHost } from "../../runtime/guarded-fetch/allowed-host.ts";
import { isLoopback, parseHubAddress } from "../../runtime/hubs/hub-address.ts";
import { logFormatProblem } from "../../runtime/log/log-format.ts";
import { visiblePathProblem } from "../../sandbox/cage-mounts.ts";
import { isolationLevels } from "../../sandbox/sandbox.ts";
import { loadVerifyingKey } from "../../signing/ed25519.ts";
import { pemFromText } from "../../signing/pem-text.ts";

/** The built-in agent of every worker with an endpoint; it has no entry. */
export const chatAgentName = "chat";
/** The agent that `roo_code` stands for. */
export const rooCodeName = "roo-code";
/** The name by which a job gets the first agent. */
const defaultAgentName = "default";

const text = boundedText(1, 4096);
const pem = boundedText(1, 10_000);
const command = z.array(text).min(1);
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, "must be a variable name");

function seconds(max: number) {
  const allowed = `must be a number of seconds from 0.001 to ${max}`;
  return z.number(allowed).min(0.001, allowed).max(max, allowed);
}

/** Text for which `problemOf` returns null; otherwise it returns the problem. */
function checked(problemOf: (value: string) => string | null) {
  return text.superRefine((value, refinement) => {
    const problem = problemOf(value);
    if (problem !== null) refinement.addIssue({ code: "custom", message: problem });
  });
}

const hubUrl = checked((urls) => {
  const isFine = urls.split(",").every((url) => isHubAddress(url.trim()));
  return isFine
    ? null
    : "must be the address of a hub, such as https://hub.example:3000, and nothing behind it";
});

function isHubAddress(url: string): boolean {
  try {
    parseHubAddress(url, { allowInsecure: true });
    return true;
  } catch {
    // The message of the shape says what is allowed.
    return false;
  }
}

const server = z
  .strictObject({
    /** One address or several. */
    url: z.union([hubUrl, z.array(hubUrl).min(1).max(16)]),
    worker_token: text.regex(/^[\x21-\x7e]+$/, "must be one word of plain letters, digits and signs"),
    worker_id: workerId.optional(),
    name: boundedText(1, 200).optional(),
    /** The authority that signed the hub's certificate: as text, or as the file that contains it. */
    ca: pem.optional(),
    ca_file: text.optional(),
    location: z.enum(executionLocations).optional(),
    tags: z.array(tag).max(100).optional(),
    types: z.array(jobType).max(1000).optional(),
    poll_interval: seconds(3600).optional(),
    timeout: seconds(600).optional(),
    heartbeat_interval: seconds(3600).optional(),
  })
  .refine(({ ca, ca_file }) => ca === undefined || ca_file === undefined, {
    path: ["ca_file"],
    message: "ca is set too; keep one of the two",
  });

const endpoint = checked((value) => {
  const url = URL.parse(value);
  const isHttp = url !== null && ["http:", "https:"].includes(url.protocol);
  const isPlain =
    isHttp && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return isPlain ? null : "must be an http or https address without user, password, query and fragment";
});

const capability = z
  .strictObject({
    provider: z.enum(providers),
    model: boundedText(1, 200),
    endpoint: endpoint.optional(),
    timeout: seconds(3600).optional(),
    max_concurrent: integer(1, 10_000).optional(),
    /** Only the built-in agent reads it. */
    api_key_file: text.optional(),
  })
  .superRefine(({ endpoint: address, api_key_file }, refinement) => {
    if (api_key_file === undefined) return;
    const url = address === undefined ? null : URL.parse(address);
    const isOpen = url?.protocol === "http:" && !isLoopback(url.hostname);
    const message =
      url === null
        ? "needs an endpoint to send the key to"
        : isOpen
          ? "would send the key unencrypted to another host; give the endpoint as https://"
          : undefined;
    if (message !== undefined) refinement.addIssue({ code: "custom", path: ["api_key_file"], message });
  });

const publicKey = checked((value) => {
  try {
    loadVerifyingKey(pemFromText(value));
    return null;
  } catch {
    // The key's own error would quote it; this one says what is allowed.
    return "must be an Ed25519 public key in PEM, as `writ keys export` prints it";
  }
}).transform(pemFromText);

const security = z
  .strictObject({
    job_signing_public_key: publicKey.optional(),
    job_signing_public_keys: z.array(publicKey).min(1).max(16).optional(),
    allowed_path_prefixes: z.array(checked(relativePathProblem)).max(1000).optional(),
    forbidden_absolute_paths: z.array(checked(placeProblem)).max(1000).optional(),
    repo_roots: z.array(checked(placeProblem)).max(1000).optional(),
  })
  .refine(({ job_signing_public_key: one, job_signing_public_keys: several }) => !(one && several), {
    path: ["job_signing_public_key"],
    message: "job_signing_public_keys is set too; keep one of the two",
  });

/** `~` is the home of the user that runs the worker. */
function placeProblem(path: string): string | null {
  const problem = absolutePathProblem(path.replace(/^~(?=\/|$)/, "/home"));
  return problem === "must be absolute" ? "must start with / or ~/" : problem;
}

const agentName = checked((name) => {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(name)) return "must be 1 to 100 letters, digits, . _ or -";
  if (name === chatAgentName) return "is the name of the built-in agent; choose another name";
  return name === defaultAgentName ? "means the first agent; choose another name" : null;
});

const agent = z
  .strictObject({
    name: agentName,
    command: command.optional(),
    /** What it reads on its standard input (default: nothing). */
    stdin: z.literal("task", "must be task, or be left out").optional(),
    /** How it tells what it does (default: text, not at all). */
    protocol: z.enum(protocols).optional(),
    env_from_worker: z.array(variable).max(100).optional(),
    home: text.optional(),
    session: boundedText(1, 100).optional(),
    validate: command.optional(),
    /** With it, its jobs have a closed network. */
    egress: agentEgress.optional(),
  })
  .refine(({ command: words, egress }) => words !== undefined || egress === undefined, {
    path: ["egress"],
    message: "needs a command: the network of a program that somebody else runs cannot be closed",
  })
  .refine(({ command: words, stdin }) => words !== undefined || stdin === undefined, {
    path: ["stdin"],
    message: "needs a command that reads it",
  })
  .refine(({ command: words, protocol = "text" }) => words !== undefined || protocol === "text", {
    path: ["protocol"],
    message: "needs a command: what a program prints that somebody else runs is not seen",
  });

/** Each is a mount of its own; the launcher accepts 256. */
const visiblePathsMax = 200;
const repoFile = checked(relativePathProblem);
const solverHost = text.refine((host) => parseAllowedHost(host) !== null, {
  message: "must be a host, with or without a port, such as files.example or 10.0.0.5:8080",
});

/** What says how a message is read and where it goes is not for a key. */
const headerPattern =
  /^(?!(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|keep-alive|proxy-.*)$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$/i;

const injection = z.strictObject({
  host: text.refine((host) => injectHost(host) !== null, {
    message: "must be a host, with or without a port, such as api.example.com",
  }),
  header: boundedText(1, 100).regex(headerPattern, "must be the name of a header, such as Authorization"),
  format: boundedText(1, 1000)
    .regex(/^[\x20-\x7e]+$/, "must be plain characters")
    .refine((format) => format.split(formatPlace).length === 2, `must contain ${formatPlace} once`)
    .optional(),
});

/** A job names only the host. */
function differentPorts(
  secrets: Record<string, { inject?: { host: string } | undefined }>,
  refinement: z.RefinementCtx,
): void {
  const ports = new Map<string, number>();
  for (const [name, { inject }] of Object.entries(secrets)) {
    const to = inject === undefined ? null : injectHost(inject.host);
    if (to === null) continue;
    const other = ports.get(to.host) ?? to.port;
    ports.set(to.host, to.port);
    if (other === to.port) continue;
    const message = `another secret is for port ${other} of this host; use one port`;
    refinement.addIssue({ code: "custom", path: [name, "inject", "host"], message });
  }
}

const execution = z
  .strictObject({
    isolation: z.enum(isolationLevels).optional(),
    slots: integer(1, 10_000).optional(),
    limits: limits.optional(),
    max_limits: limits.optional(),
    agents: z.array(agent).max(100).optional(),
    roo_code: z
      .strictObject({
        enabled: z.boolean().optional(),
        task_file: repoFile.optional(),
        completion_marker: repoFile.optional(),
      })
      .optional(),
    handlers: z.record(jobType, command).optional(),
    secrets: z
      .record(
        variable,
        z.strictObject({
          file: text,
          tenants: z.array(text).max(1000).optional(),
          inject: injection.optional(),
        }),
      )
      .superRefine(differentPorts)
      .optional(),
    egress: workerEgress.optional(),
    containers: z.record(containerName, z.strictObject({ exec: command.max(100) })).optional(),
    visible_paths: z.array(checked(visiblePathProblem)).max(visiblePathsMax).optional(),
    solver_hosts: z.array(solverHost).max(1000).optional(),
    max_file_size_bytes: integer(0, Number.MAX_SAFE_INTEGER).optional(),
    max_total_size_bytes: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  })
  .superRefine(({ agents = [], roo_code }, refinement) => {
    const names = agents.map(({ name }) => name);
    for (const [at, name] of names.entries()) {
      const isRoo = name === rooCodeName && roo_code !== undefined;
      const message = isRoo
        ? "roo_code is set too; keep one of the two"
        : names.indexOf(name) < at
          ? "is the name of another agent"
          : undefined;
      if (message !== undefined)
        refinement.addIssue({ code: "custom", path: ["agents", at, "name"], message });
    }
  });

const logging = z.strictObject({
  level: z.enum(["DEBUG", "INFO", "WARNING", "WARN", "ERROR"]).optional(),
  file: text.optional(),
  max_size_bytes: integer(1024, Number.MAX_SAFE_INTEGER).optional(),
  backup_count: integer(0, 1000).optional(),
  format: checked(logFormatProblem).optional(),
});

/** Everything that agents.yaml may contain. */
export const agentsShape = z.strictObject({
  server,
  capabilities: z
    .array(capability)
    .max(1000)
    .superRefine((all, refinement) => {
      const names = all.map(({ provider, model }) => `${provider} ${model}`);
      for (const [at, name] of names.entries()) {
        if (names.indexOf(name) === at) continue;
        const message = "this provider has this model already; keep one of the two";
        refinement.addIssue({ code: "custom", path: [at, "model"], message });
      }
    })
    .optional(),
  security: security.optional(),
  execution: execution.optional(),
  logging: logging.optional(),
});

export type AgentsFile = z.infer<typeof agentsShape>;
