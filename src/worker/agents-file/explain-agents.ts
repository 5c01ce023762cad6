import { access, constants } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { formatBytes } from "../../core/text/format-bytes.ts";
import { agentProblem, agentProblems } from "../../runners/delegate/agent-problems.ts";
import type { AgentEntry, Capability, DelegateSettings } from "../../runners/delegate/delegate-settings.ts";
import { systemPath } from "../../runners/process-environment.ts";
import type { WorkerSettings } from "../settings.ts";
import { type Meaning, ok, seconds, warning } from "./meaning.ts";

/** Explains the coding agents of a worker: their models, how each is started, and what it may change. */
export async function explainAgents({
  capabilities,
  delegate,
  execution,
}: WorkerSettings): Promise<Meaning[]> {
  if (delegate === undefined) {
    const models = capabilities.map(({ provider, model }) => `${provider} ${model}`);
    const says =
      "has none, so it takes no delegate jobs; name them under execution.agents, or give a model an endpoint";
    return [
      models.length === 0
        ? ok("agents", says)
        : warning("agents", `${says}; its models are ${models.join(", ")}`),
    ];
  }
  const { agents, workerEnv } = delegate;
  return [
    ...explainModels(delegate.capabilities),
    ...(await Promise.all(agents.map((agent) => explainAgent(agent, workerEnv)))).flat(),
    ...explainOffers(agents, execution.isolation),
    ...explainPaths(delegate),
  ];
}

/** Explains which agents a job can have, and which one it gets by default. */
function explainOffers(
  agents: readonly AgentEntry[],
  isolation: WorkerSettings["execution"]["isolation"],
): Meaning[] {
  const advice = "set execution.isolation to best-effort, or remove the agent";
  const problems = agentProblems(agents, isolation ?? "strict").map(({ agent, why }) =>
    isolation === undefined
      ? warning("agents", `${agent}: ${why}, and strict is the default where this machine can; ${advice}`)
      : warning("agents", `${agent}: cannot run, so it is not offered: it ${why}; ${advice}`),
  );
  const first = agents.find((agent) => agentProblem(agent, isolation ?? "best-effort") === null);
  if (first === undefined) return problems;
  return [...problems, ok("agents", `a job that names the agent default gets ${first.name}`)];
}

function explainModels(capabilities: readonly Capability[]): Meaning[] {
  if (capabilities.length === 0)
    return [
      warning("models", "has none, so it is given no job for its agents; list them under capabilities"),
    ];
  return capabilities.map(({ provider, model, endpoint, timeoutMs, maxConcurrent, apiKeyFile }) => {
    const count =
      maxConcurrent === undefined
        ? "as many jobs at once as it has slots"
        : `at most ${maxConcurrent} jobs at once`;
    const key = apiKeyFile === undefined ? "" : `, with the key in ${apiKeyFile}`;
    const where =
      endpoint === undefined ? "" : `, at ${endpoint}${key}; one call may take ${seconds(timeoutMs)}`;
    return ok("models", `${model} of ${provider}: ${count}${where}`);
  });
}

async function explainAgent(
  agent: AgentEntry,
  workerEnv: Readonly<Record<string, string>>,
): Promise<Meaning[]> {
  const { name, command, builtin, envFromWorker, home, session, validate } = agent;
  const parts = [
    startOf(agent),
    ...(session === undefined ? [] : [`it serves the session ${session}`]),
    ...(home === undefined ? [] : [`its home is ${home}`]),
    ...(envFromWorker.length === 0
      ? []
      : [`it sees ${envFromWorker.join(", ")} of the worker's environment`]),
    ...(validate === undefined ? [] : [`its work is checked by \`${validate.join(" ")}\``]),
  ];
  const unset = envFromWorker.filter((variable) => !Object.hasOwn(workerEnv, variable));
  const program = command?.[0];
  const isLost = program !== undefined && builtin === undefined && !(await isProgram(program));
  return [
    ok("agents", `${name}: ${parts.join("; ")}`),
    ...(isLost
      ? [warning("agents", `${name}: ${program} is not in ${systemPath}; install it there, or give its path`)]
      : []),
    ...(unset.length === 0
      ? []
      : [warning("agents", `${name}: ${unset.join(", ")} is not set in this environment`)]),
  ];
}

function startOf({ command, builtin, taskFile, completionMarker, protocol = "text" }: AgentEntry): string {
  if (builtin !== undefined)
    return "is built in; it sends the prompt to the endpoint of the job's model, and the answer is the result";
  if (command !== undefined) {
    const tells = protocol === "text" ? "" : `, and tells what it does as ${protocol}`;
    return `runs \`${command.join(" ")}\` in a cage${tells}`;
  }
  return `is a program that somebody else runs; it finds ${taskFile} in the repository and leaves ${completionMarker} there`;
}

async function isProgram(program: string): Promise<boolean> {
  const places = isAbsolute(program) ? [program] : systemPath.split(":").map((dir) => join(dir, program));
  // A path with a slash is in the repository, which is not known here.
  if (!isAbsolute(program) && program.includes("/")) return true;
  const found = await Promise.allSettled(places.map((place) => access(place, constants.X_OK)));
  return found.some(({ status }) => status === "fulfilled");
}

function explainPaths({
  allowedPathPrefixes,
  forbiddenPaths,
  repoRoots,
  maxFileBytes,
  maxTotalBytes,
}: DelegateSettings): Meaning[] {
  const sizes = `at most ${formatBytes(maxFileBytes)} in one file and ${formatBytes(maxTotalBytes)} in all`;
  return [
    allowedPathPrefixes.length === 0
      ? warning("changes", "agents may change nothing; name folders under security.allowed_path_prefixes")
      : ok(
          "changes",
          `in a repository, agents may change what is in ${allowedPathPrefixes.join(", ")}: ${sizes}`,
        ),
    repoRoots === undefined
      ? warning(
          "repos",
          "a job may name any folder that the worker can read and that is not forbidden; name where repositories are under security.repo_roots",
        )
      : ok("repos", `jobs may name repositories in ${repoRoots.join(", ") || "no folder at all"}`),
    ok("forbidden", `no repository may be in, and no agent sees, ${forbiddenPaths.join(", ")}`),
  ];
}
