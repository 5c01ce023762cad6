import { z } from "zod";
import { text as boundedText, containerName, integer, jobType, tag, workerId } from "../contract/fields.ts";
import { limits } from "../contract/run-shapes.ts";
import { executionLocations, providers } from "../core/document.ts";
import { WritError } from "../core/errors.ts";
import { parseAllowedHost } from "../runtime/guarded-fetch/allowed-host.ts";
import { loadYamlFile, type YamlFile } from "../runtime/yaml-file.ts";
import { visiblePathProblem } from "../sandbox/cage-mounts.ts";
import { isolationLevels } from "../sandbox/sandbox.ts";

const text = boundedText(1, 4096);
const pem = boundedText(1, 10_000);
const seconds = (max: number) => z.number().min(0.001).max(max);
const command = z.array(text).min(1);

const server = z.strictObject({
  /** One address or several. */
  url: z.union([text, z.array(text).min(1).max(16)]),
  worker_token: text,
  worker_id: workerId.optional(),
  name: boundedText(1, 200).optional(),
  /** The authority that signed the hub's certificate: its text, or the file that holds it. */
  ca: pem.optional(),
  ca_file: text.optional(),
  location: z.enum(executionLocations).optional(),
  tags: z.array(tag).max(100).optional(),
  types: z.array(jobType).max(1000).optional(),
  poll_interval: seconds(3600).optional(),
  timeout: seconds(600).optional(),
  heartbeat_interval: seconds(3600).optional(),
});

const capability = z.strictObject({
  provider: z.enum(providers),
  model: boundedText(1, 200),
  endpoint: text.optional(),
  timeout: seconds(3600).optional(),
  max_concurrent: integer(1, 10_000).optional(),
});

const security = z.strictObject({
  job_signing_public_key: pem.optional(),
  job_signing_public_keys: z.array(pem).min(1).max(16).optional(),
  allowed_path_prefixes: z.array(text).max(1000).optional(),
  forbidden_absolute_paths: z.array(text).max(1000).optional(),
});

const agent = z.strictObject({
  name: boundedText(1, 100),
  command: command.optional(),
  env_from_worker: z.array(text).max(100).optional(),
  home: text.optional(),
  session: boundedText(1, 100).optional(),
  validate: command.optional(),
});

/** Each is a mount of its own; the launcher accepts 256. */
const visiblePathsMax = 200;
const visiblePath = text.superRefine((path, refinement) => {
  const problem = visiblePathProblem(path);
  if (problem !== null) refinement.addIssue({ code: "custom", message: problem });
});

const solverHost = text.refine((host) => parseAllowedHost(host) !== null, {
  message: "must be a host, with or without a port, such as files.example or 10.0.0.5:8080",
});

const execution = z.strictObject({
  isolation: z.enum(isolationLevels).optional(),
  slots: integer(1, 10_000).optional(),
  limits: limits.optional(),
  max_limits: limits.optional(),
  agents: z.array(agent).max(100).optional(),
  roo_code: z
    .strictObject({
      enabled: z.boolean().optional(),
      task_file: text.optional(),
      completion_marker: text.optional(),
    })
    .optional(),
  handlers: z.record(jobType, command).optional(),
  secrets: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, "must be a variable name"),
      z.strictObject({ file: text, tenants: z.array(text).max(1000).optional() }),
    )
    .optional(),
  containers: z.record(containerName, z.strictObject({ exec: command.max(100) })).optional(),
  visible_paths: z.array(visiblePath).max(visiblePathsMax).optional(),
  solver_hosts: z.array(solverHost).max(1000).optional(),
  max_file_size_bytes: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  max_total_size_bytes: integer(0, Number.MAX_SAFE_INTEGER).optional(),
});

const logging = z.strictObject({
  level: z.enum(["DEBUG", "INFO", "WARNING", "WARN", "ERROR"]).optional(),
  file: text.optional(),
  max_size_bytes: integer(1024, Number.MAX_SAFE_INTEGER).optional(),
  backup_count: integer(0, 1000).optional(),
  format: text.optional(),
});

const agentsFile = z.strictObject({
  server,
  capabilities: z.array(capability).max(1000).optional(),
  security: security.optional(),
  execution: execution.optional(),
  logging: logging.optional(),
});

export type AgentsFile = z.infer<typeof agentsFile>;

/** Reads agents.yaml. It contains a token, so others must not be able to read it. */
export async function loadAgentsFile(path: string): Promise<AgentsFile> {
  const file = await loadYamlFile(path, { mustBePrivate: true });
  const parsed = agentsFile.safeParse(file.data);
  if (parsed.success) return parsed.data;
  throw refusal(file, parsed.error.issues[0]!);
}

/** One line with the place, the key, and what is allowed; never a value, which may be the token. */
function refusal(file: YamlFile, issue: z.core.$ZodIssue): WritError {
  const isUnknown = issue.code === "unrecognized_keys";
  const path = [...issue.path, ...(isUnknown ? issue.keys.slice(0, 1) : [])] as (string | number)[];
  const key = path.join(".");
  const what = isUnknown ? `unknown key ${key}` : `${key === "" ? "the file" : key}: ${issue.message}`;
  return new WritError("CONFIG_INVALID", `${file.path}:${lineNear(file, path)}: ${what}`, { key });
}

/** A missing key has no line, so the line of its section is used. */
function lineNear(file: YamlFile, path: (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const line = file.lineOf(path.slice(0, length));
    if (line !== undefined) return line;
  }
  return 1;
}
