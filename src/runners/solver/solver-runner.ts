import { join } from "node:path";
import type { JsonValue } from "../../core/text/json-value.ts";
import { type AllowedHost, parseAllowedHost } from "../../runtime/guarded-fetch/allowed-host.ts";
import { checkUrl } from "../../runtime/guarded-fetch/check-url.ts";
import { FetchError } from "../../runtime/guarded-fetch/fetch-error.ts";
import type { Received } from "../../runtime/guarded-fetch/guarded-fetch.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { runProcess } from "../run-process.ts";
import type { RunContext, Runner, RunnerDeps, RunOutcome } from "../runner.ts";
import { asFailure } from "./download-solver.ts";
import { SolverCache, type WantedSolver } from "./solver-cache.ts";

/** In the job's own directory. */
const fileName = "solver";
/** How often the progress of a download is reported; one that is over sooner needs no report. Each is an event. */
const reportEveryMs = 2_000;
const nameCharsMax = 80;

/** The part of a worker's settings that concerns this kind. */
export type SolverSettings = {
  solverCacheDir: string;
  /** Of all cached solvers together, and of one. */
  solverCacheBytesMax: number;
  solverBytesMax: number;
  /** Hosts beside the public ones, as HOST or HOST:PORT. */
  solverHosts: readonly string[];
};

type SolverDeps = RunnerDeps & { cache: SolverCache; allowedHosts: readonly AllowedHost[] };

/** Downloads a program, verifies it, and runs it with the job's params as one argument. Why: ADR 0043. */
export function solverRunner(deps: RunnerDeps & { settings: SolverSettings }): Runner {
  const { settings, clock, logger } = deps;
  const allowedHosts = settings.solverHosts.flatMap((text) => parseAllowedHost(text) ?? []);
  const cache = new SolverCache({
    dir: settings.solverCacheDir,
    cacheBytesMax: settings.solverCacheBytesMax,
    solverBytesMax: settings.solverBytesMax,
    guard: { clock, allowedHosts },
    logger,
  });
  return {
    kind: "solver",
    isInProcess: () => false,
    open: () => cache.open(),
    run: (context) => run({ ...deps, cache, allowedHosts }, context),
    close: async () => cache.close(),
  };
}

async function run(deps: SolverDeps, context: RunContext): Promise<RunOutcome> {
  const { document, workDir } = context;
  const { run: spec, tenant_id: tenantId } = document;
  if (spec.kind !== "solver") throw new Error(`the solver runner was given a job of kind ${spec.kind}`);
  const { url, checksum, secrets } = spec;
  // Even if it is in the cache: whether a URL is allowed does not depend on what other jobs have run.
  refuseForbidden(url, deps.allowedHosts);
  const params = signedParams(context);
  const wanted = { tenantId, url, sha256: checksum.replace(/^sha256:/, "") };
  return runProcess(deps, context, {
    argv: [join(deps.sandbox.workDirInside(workDir), fileName), "--params", canonicalize(params)],
    secrets,
    input: params,
    resultForm: "document",
    prepare: () => placeSolver(deps, context, wanted),
  });
}

function refuseForbidden(url: string, allowedHosts: readonly AllowedHost[]): void {
  try {
    checkUrl(url, allowedHosts);
  } catch (error) {
    throw error instanceof FetchError ? asFailure(error) : error;
  }
}

/** The params as they were signed: a decimal keeps its spelling. */
function signedParams({ signed }: RunContext): JsonValue {
  const run = signed["run"] as { params?: JsonValue };
  return run.params ?? null;
}

async function placeSolver(
  { cache, clock }: SolverDeps,
  context: RunContext,
  wanted: WantedSolver,
): Promise<void> {
  const { signal, reportProgress, workDir } = context;
  let reportedMs = clock.monotonicMs();
  let hasReported = false;
  const onProgress = (received: Received): void => {
    if (clock.monotonicMs() - reportedMs < reportEveryMs) return;
    reportedMs = clock.monotonicMs();
    hasReported = true;
    reportProgress(percentOf(received), `downloading ${nameOf(wanted.url)}: ${amountOf(received)}`);
  };
  await cache.place(wanted, join(workDir, fileName), { signal, onProgress });
  // The progress of the download is not that of the job.
  if (hasReported) reportProgress(0, "the solver was downloaded");
}

/** The file and where it comes from. A query is left out: it may contain a signature. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url);
  const name = pathname.split("/").at(-1)!.slice(0, nameCharsMax);
  return `${name === "" ? "the solver" : name} from ${host.slice(0, nameCharsMax)}`;
}

function percentOf({ bytes, ofBytes }: Received): number {
  return ofBytes === null || ofBytes === 0 ? 0 : Math.min(100, (bytes / ofBytes) * 100);
}

function amountOf({ bytes, ofBytes }: Received): string {
  const mib = (amount: number): string => (amount / 1024 ** 2).toFixed(1);
  return ofBytes === null ? `${mib(bytes)} MiB` : `${mib(bytes)} of ${mib(ofBytes)} MiB`;
}
