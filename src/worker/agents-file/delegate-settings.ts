import { dirname } from "node:path";
import type { AgentEntry, DelegateSettings } from "../../runners/delegate/delegate-settings.ts";
import { homeOfUser, isHubHome } from "../../runtime/settings/home.ts";
import { type AgentsFile, chatAgentName, rooCodeName } from "./agents-shape.ts";
import { fullPath } from "./load-agents-file.ts";

const alwaysForbidden = ["/etc/", "/root/", "/sys/", "/proc/", "~/.ssh/", "~/.aws/", "~/.writ/"];
/** The files in the repository for an agent outside the cage: its task, and the marker that it leaves at the end. */
const outsideFiles = { taskFile: "TASK.md", completionMarker: ".writ_completed" };
const rooFiles = { taskFile: "TASK.md", completionMarker: ".roo_completed" };
const endpointTimeoutMs = 120_000;
const fileBytesDefault = 1024 ** 2;
const totalBytesDefault = 10 * 1024 ** 2;

type DelegateSources = {
  env: Readonly<Record<string, string | undefined>>;
  /** The worker's home, with its key and its token. */
  home: string;
};

/** The settings of coding agents; undefined if the file has none, so that the worker gets no such jobs. */
export function delegateSettings(
  file: AgentsFile | undefined,
  { env, home }: DelegateSources,
): DelegateSettings | undefined {
  const agents = agentsOf(file);
  if (file === undefined || agents.length === 0) return undefined;
  const { security = {}, execution = {}, capabilities = [] } = file;
  const userHome = homeOfUser(env);
  const named = new Set(agents.flatMap(({ envFromWorker }) => envFromWorker));
  return {
    agents,
    capabilities: capabilities.map(
      ({ provider, model, endpoint, timeout, max_concurrent, api_key_file }) => ({
        provider,
        model,
        endpoint,
        timeoutMs: timeout === undefined ? endpointTimeoutMs : Math.round(timeout * 1000),
        maxConcurrent: max_concurrent,
        apiKeyFile: api_key_file,
      }),
    ),
    allowedPathPrefixes: security.allowed_path_prefixes ?? [],
    forbiddenPaths: [
      ...[...alwaysForbidden, ...(security.forbidden_absolute_paths ?? [])].map((path) =>
        fullPath("/", userHome, path),
      ),
      home,
      // The worker of `writ up` lives in the home of its hub.
      ...(isHubHome(dirname(home)) ? [dirname(home)] : []),
    ],
    repoRoots: security.repo_roots?.map((path) => fullPath("/", userHome, path)),
    maxFileBytes: execution.max_file_size_bytes ?? fileBytesDefault,
    maxTotalBytes: execution.max_total_size_bytes ?? totalBytesDefault,
    workerEnv: Object.fromEntries(
      Object.entries(env).filter(
        (entry): entry is [string, string] => named.has(entry[0]) && entry[1] !== undefined,
      ),
    ),
  };
}

/** In the order of the file, then roo-code, then the built-in agent, if some model has an endpoint. */
function agentsOf(file: AgentsFile | undefined): AgentEntry[] {
  const { agents = [], roo_code: roo } = file?.execution ?? {};
  const hasEndpoint = (file?.capabilities ?? []).some(({ endpoint }) => endpoint !== undefined);
  return [
    ...agents.map(({ env_from_worker: envFromWorker = [], ...entry }) => ({
      ...(entry.command === undefined ? outsideFiles : {}),
      ...entry,
      envFromWorker,
    })),
    ...(roo === undefined || roo.enabled === false
      ? []
      : [
          {
            name: rooCodeName,
            envFromWorker: [],
            taskFile: roo.task_file ?? rooFiles.taskFile,
            completionMarker: roo.completion_marker ?? rooFiles.completionMarker,
          },
        ]),
    ...(hasEndpoint ? [{ name: chatAgentName, builtin: "chat" as const, envFromWorker: [] }] : []),
  ];
}
