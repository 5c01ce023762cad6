import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JobDocument } from "../../contract/document.ts";
import type { AgentCall, AgentUse } from "../../core/agents/agent-use.ts";
import { uuidV7 } from "../../core/ids.ts";
import { AttemptSecrets } from "../../runners/attempt-secrets.ts";
import { delegateRunner } from "../../runners/delegate/delegate-runner.ts";
import type { AgentEntry, Capability, DelegateSettings } from "../../runners/delegate/delegate-settings.ts";
import type { RunContext, RunnerDeps, RunOutcome } from "../../runners/runner.ts";
import { modelVariables, writeModelFiles } from "./model-address.ts";
import { startModelServer } from "./model-server.ts";
import {
  editedFile,
  editedText,
  forbiddenFile,
  type Seen,
  trialFiles,
  trialModel,
  trialPrompt,
} from "./trial.ts";

type Check = {
  deps: RunnerDeps;
  delegate: DelegateSettings;
  entry: AgentEntry;
  capability: Capability;
  /** An empty directory on a path that a cage can show. */
  dir: string;
  timeoutMs: number;
};

/** The result of a trial: which of the four tasks succeeded, and how the agent ended. */
export type AgentTrial = {
  readsTask: boolean;
  edits: boolean;
  runsTests: boolean;
  isRefused: boolean;
  turns: number;
  /** What it told of itself, if its entry names a protocol. */
  use: AgentUse | undefined;
  calls: AgentCall[];
  outcome: RunOutcome;
  /** The end of what it printed. */
  output: string;
};

/**
 * Runs an agent of the worker's settings in the cage, against a model on loopback that makes it read its task, edit a
 * file, run the tests and try a forbidden change. It sees nothing of the worker: no key, and a home made for the trial.
 * Why: ADR 0103.
 */
export async function tryAgent(check: Check): Promise<AgentTrial> {
  const { dir } = check;
  const repo = join(dir, "repo");
  await makeRepository(repo);
  const trial = { repo, secretWord: `word-${randomBytes(6).toString("hex")}` };
  const { answer, seen } = trialModel(trial);
  const model = await startModelServer(answer);
  try {
    const attemptDir = join(dir, "jobs/trial/1");
    const calls = new Map<number, AgentCall>();
    const prompt = trialPrompt(trial);
    const outcome = await runTrial(check, { repo, attemptDir, prompt, url: model.url, calls });
    const use = outcome.kind === "released" ? undefined : outcome.usage?.agent;
    const judged = await judge({ repo, attemptDir, outcome, seen });
    return { ...judged, use, calls: [...calls.values()], outcome };
  } finally {
    await model.close();
  }
}

/** A folder for one trial: not in /tmp, because a cage has its own, and not in a home of Writ, which no agent sees. */
export async function withTrialFolder<T>(act: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp("/var/tmp/writ-agent-");
  try {
    await chmod(dir, 0o755);
    return await act(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Creates the files that git needs for an empty repository. */
async function makeRepository(repo: string): Promise<void> {
  const git = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\trepositoryformatversion = 0\n",
  };
  // Set explicitly, because the agent may be another user and the umask of this process may exclude it.
  for (const dir of ["", ".git", ".git/objects", ".git/refs", "src"]) {
    await mkdir(join(repo, dir));
    await chmod(join(repo, dir), 0o755);
  }
  for (const [path, text] of Object.entries({ ...git, ...trialFiles })) {
    await writeFile(join(repo, path), text);
    await chmod(join(repo, path), 0o644);
  }
}

type TrialPlace = {
  repo: string;
  attemptDir: string;
  prompt: string;
  url: string;
  calls: Map<number, AgentCall>;
};

async function runTrial(
  check: Check,
  { repo, attemptDir, prompt, url, calls }: TrialPlace,
): Promise<RunOutcome> {
  const { deps, delegate, entry, dir } = check;
  const home = join(dir, "home");
  await mkdir(home, { mode: 0o700 });
  await writeModelFiles(home, url);
  const variables = modelVariables(url);
  const workerEnv = {
    ...Object.fromEntries(entry.envFromWorker.map((name) => [name, "writ-doctor"])),
    ...variables,
  };
  const capability = { ...check.capability, endpoint: `${url}${pathOf(check.capability.endpoint)}` };
  const settings: DelegateSettings = {
    ...delegate,
    agents: [{ ...entry, envFromWorker: Object.keys(workerEnv), home, validate: undefined }],
    capabilities: [capability],
    allowedPathPrefixes: ["src"],
    forbiddenPaths: [],
    repoRoots: [repo],
    workerEnv,
  };
  const workDir = join(attemptDir, "work");
  await mkdir(workDir, { recursive: true, mode: 0o711 });
  const document = {
    job_id: uuidV7(deps.clock.nowMs(), randomBytes(16)),
    tenant_id: "default",
    type: "delegate",
    provider: capability.provider,
    model: capability.model,
    run: { kind: "delegate", agent: entry.name, prompt, mode: "patch", idle_timeout_sec: 0 },
    repo_root: repo,
    allowed_paths: ["src"],
  } as unknown as JobDocument;
  return runFor(check, (signal) =>
    delegateRunner(deps, settings).run({
      ...contextOf(document, signal, check.timeoutMs),
      attemptDir,
      workDir,
      reportCall: (call) => void calls.set(call.call, call),
    }),
  );
}

function contextOf(document: JobDocument, signal: AbortSignal, timeoutMs: number): RunContext {
  return {
    document,
    lease: { job_id: document.job_id, attempt: 1, timeout_sec: Math.ceil(timeoutMs / 1000) },
    signal,
    hurry: signal,
    secrets: new AttemptSecrets(),
    jobToken: undefined,
    onStarted: async () => {},
    onProcess: () => {},
    reportProgress: () => {},
    writeOutput: () => {},
  } as unknown as RunContext;
}

async function runFor(
  { deps, timeoutMs }: Check,
  act: (signal: AbortSignal) => Promise<RunOutcome>,
): Promise<RunOutcome> {
  const stop = new AbortController();
  const timer = deps.clock.setTimer(() => stop.abort("timeout"), timeoutMs);
  try {
    return await act(stop.signal);
  } finally {
    timer.cancel();
  }
}

function pathOf(endpoint: string | undefined): string {
  return endpoint === undefined ? "" : new URL(endpoint).pathname.replace(/\/$/, "");
}

type EndedTrial = { repo: string; attemptDir: string; outcome: RunOutcome; seen: Seen };

async function judge({
  repo,
  attemptDir,
  outcome,
  seen,
}: EndedTrial): Promise<Omit<AgentTrial, "outcome" | "use" | "calls">> {
  // An agent may remove any of these files.
  const read = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");
  const isAbsent = !existsSync(join(repo, forbiddenFile));
  const result = outcome.kind === "succeeded" ? outcome.resultJson : "";
  const changed: { path: string }[] = result === "" ? [] : (JSON.parse(result).changed ?? []);
  const output = `${await read(join(attemptDir, "stdout.log"))}${await read(join(attemptDir, "stderr.log"))}`;
  return {
    readsTask: seen.task,
    edits: (await read(join(attemptDir, "changes/files", editedFile))) === editedText,
    runsTests: seen.tests,
    isRefused: seen.refusal && isAbsent && changed.every(({ path }) => path === editedFile),
    turns: seen.turns,
    output: output.slice(-outputCharsMax).toWellFormed(),
  };
}

const outputCharsMax = 2000;
