import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { AgentEntry, DelegateSettings } from "../../src/runners/delegate/delegate-settings.ts";
import { isOrdinaryUser } from "../sandbox/cage-stage.ts";
import { freshName } from "../support/jobs.ts";
import { type KindStage, kindStage } from "./stage.ts";

/** Somebody else than the worker, or without root the user who runs it. */
export const owner = isOrdinaryUser()
  ? { uid: process.getuid!(), gid: process.getgid!() }
  : { uid: 1234, gid: 2345 };

export const model = { provider: "OLLAMA", model: "small" } as const;

type Delegated = { allowed?: string[]; run?: object; more?: object; repo?: string };

export type DelegateStage = KindStage & {
  /** A directory that jobs can be shown, unlike /tmp. */
  dir: string;
  /** A repository of somebody else: README.md, src/main.txt, docs/guide.md, and a commit of them. */
  makeRepo(): string;
  /** A worker whose agents are shell scripts. The first is `default`. */
  startAgents(agents: Agents, settings?: Partial<DelegateSettings>, visiblePaths?: string[]): Promise<void>;
  /** Lets the first agent work in a repository; one that may change src, if nothing else is said. */
  delegate(repo: string, delegated?: Delegated): Promise<string>;
  /** The same, and waits for its end. */
  delegated(repo: string, delegated?: Delegated): Promise<JobView>;
  /** A job that names nothing but its model, its paths and its prompt. */
  submitPrompt(repo: string, prompt: string): Promise<string>;
  /** The bytes of a file that was kept of the job. */
  artifact(job: JobView, key: string): Promise<string>;
};

export function delegateStage(): DelegateStage {
  const stage = kindStage() as DelegateStage;
  beforeAll(() => {
    stage.dir = mkdtempSync("/var/tmp/writ-delegate-");
    chmodSync(stage.dir, 0o755);
  });
  afterAll(() => rmSync(stage.dir, { recursive: true, force: true }));

  stage.makeRepo = () => makeRepo(join(stage.dir, freshName("repo")));
  stage.startAgents = async (agents, settings = {}, visiblePaths = []) => {
    const delegate = delegateSettings(agents, settings);
    const sessions = delegate.agents.flatMap(({ session }) => session ?? []);
    const { capabilities } = delegate;
    // A host that can build whole cages would refuse agents outside of them.
    const isOutside = delegate.agents.some(({ command }) => command === undefined);
    await stage.startWorker({
      visiblePaths,
      ...(isOutside ? { level: "best-effort" as const } : {}),
      settings: { delegate, sessions, capabilities: capabilities.map(() => model) },
    });
  };
  stage.delegate = (repo, { allowed = ["src"], run = {}, more = {} } = {}) =>
    stage.submit(
      { kind: "delegate", agent: "default", prompt: "Do it.", ...run },
      { type: "delegate", ...model, repo_root: repo, allowed_paths: allowed, max_attempts: 1, ...more },
    );
  stage.submitPrompt = async (repo, input) => {
    const body = { ...model, repo_root: repo, allowed_paths: ["src"], metadata: { input } };
    return (await stage.hub.must("POST", "/jobs", { token: stage.hub.admin, body })).json<{ id: string }>()
      .id;
  };
  stage.delegated = async (repo, delegated) => stage.ended(await stage.delegate(repo, delegated));
  stage.artifact = async (job, key) => {
    const path = `/jobs/${job.id}/artifacts/${key.split("/").map(encodeURIComponent).join("/")}`;
    const { headers } = await stage.hub.call("GET", path, { token: stage.hub.admin });
    const { location } = headers as { location?: string };
    return (await stage.hub.must("GET", new URL(location!).pathname.replace(/^\/api\/v1/, ""))).text;
  };
  return stage;
}

type Agents = Record<string, string | Partial<AgentEntry>>;

export function delegateSettings(agents: Agents, settings: Partial<DelegateSettings> = {}): DelegateSettings {
  return {
    agents: Object.entries(agents).map(([name, given]) => entryOf(name, given)),
    capabilities: [{ ...model, timeoutMs: 1000 }],
    allowedPathPrefixes: ["src/", "docs/", "new/"],
    forbiddenPaths: ["/etc/", "/proc/", "/root/"],
    maxFileBytes: 1024 ** 2,
    maxTotalBytes: 10 * 1024 ** 2,
    workerEnv: {},
    ...settings,
  };
}

function entryOf(name: string, given: string | Partial<AgentEntry>): AgentEntry {
  if (typeof given !== "string") return { name, envFromWorker: [], ...given };
  return { name, command: ["sh", "-c", given], envFromWorker: [] };
}

export function makeRepo(repo: string): string {
  const files = {
    "README.md": "read me\n",
    "src/main.txt": "one\ntwo\nthree\n",
    "docs/guide.md": "guide\n",
    "src/lib/deep.txt": "deep\n",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), text);
  }
  git(repo, "init", "-q", "-b", "main");
  git(repo, "add", ".");
  git(repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first");
  giveTree(repo);
  return repo;
}

export function giveTree(dir: string): void {
  chownSync(dir, owner.uid, owner.gid);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) giveTree(join(dir, entry.name));
    else chownSync(join(dir, entry.name), owner.uid, owner.gid);
  }
}

/** No user's own settings, and any owner of a repository will do. */
const gitEnvironment = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
};

export function git(repo: string, ...args: string[]): string {
  return execFileSync("git", args, {
    cwd: repo,
    encoding: "utf8",
    env: gitEnvironment,
  });
}

/** Everything in a repository but what git writes when it is asked, as text. */
export function contentOf(dir: string, at = ""): Record<string, string> {
  const content: Record<string, string> = {};
  for (const entry of readdirSync(join(dir, at), { withFileTypes: true })) {
    const path = at === "" ? entry.name : `${at}/${entry.name}`;
    if (entry.isDirectory()) Object.assign(content, { [`${path}/`]: "" }, contentOf(dir, path));
    else content[path] = entry.isFile() ? readFileSync(join(dir, path), "latin1") : "(not a file)";
  }
  return content;
}

/** Lets git apply a diff, as a person would. */
export function apply(repo: string, diff: string): void {
  execFileSync("git", ["apply", "-"], { cwd: repo, input: diff, env: gitEnvironment });
}
