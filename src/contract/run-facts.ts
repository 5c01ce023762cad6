/** What gRPC tells about a job's `run` beside its command; empty or 0 where the kind has no such field. */
export type RunFacts = {
  kind: string;
  solverUrl: string;
  solverChecksum: string;
  port: number;
  container: string;
  agent: string;
};

/** Null is a run that the reader may not see, or that was too large for a list. */
export function runFacts(run: { kind: string; [field: string]: unknown } | null): RunFacts {
  const { kind, url, checksum, port, container, agent } = run ?? ({} as Record<string, unknown>);
  return {
    kind: textOf(kind),
    solverUrl: textOf(url),
    solverChecksum: textOf(checksum),
    port: typeof port === "number" ? port : 0,
    container: textOf(container),
    agent: textOf(agent),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
