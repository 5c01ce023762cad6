import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";

const partWords: Record<string, string> = {
  cgroup: "own cgroup",
  namespaces: "own pid, ipc, uts",
  "namespaces: user": "own user namespace",
  jail: "read-only jail",
  user: "user of its own",
  capabilities: "no capabilities",
  no_new_privs: "no new privileges",
  seccomp: "seccomp filter",
  network: "no network",
  "network: closed": "closed network",
  idmap: "mapped mounts",
  "file_size: rlimit": "file size limited",
};
const limitWords = ["cpu", "memory", "io", "pids"];

function isStandIn(part: string): boolean {
  return limitWords.some((limit) => part === `${limit}: rlimit`);
}

/** The parts of the cage that were applied, and those that were missing. */
export function IsolationPanel({ job }: { job: JobView }) {
  const { isolation } = job;
  if (isolation === null) return null;
  // A substitute for a limit is named where that limit is missing, and as a limit under Resources.
  const isClosed = isolation.applied.includes("network: closed");
  const parts = isolation.applied.filter(
    (part) => !limitWords.includes(part) && !isStandIn(part) && !(isClosed && part === "network"),
  );
  const limited = isolation.applied.filter((part) => limitWords.includes(part));
  const isStrict = isolation.level === "strict";
  return (
    <section className="panel">
      <header>
        <h2>Isolation</h2>
        <span className="grow" />
        <span className="state" data-state={isStrict ? "completed" : "assigned"}>
          <Icon name={isStrict ? "lock" : "warning"} />
          {isolation.level}
        </span>
      </header>
      <ul className="isolation">
        {parts.map((part) => (
          <li key={part}>
            <Icon name="check" />
            {partWords[part] ?? part}
          </li>
        ))}
        {isolation.missing.map(({ part, why }) => (
          <li key={part} className="lacking">
            <Icon name="warning" />
            <span>
              {limitWords.includes(part) ? "limit on " : "without "}
              {partWords[part] ?? part}
              {limitWords.includes(part) ? " not applied" : ""}: <PlainText text={why} />
            </span>
          </li>
        ))}
        {(isolation.network?.denied ?? []).map(({ host, why, requests }) => (
          <li key={`${host} ${why}`} className="lacking">
            <Icon name="warning" />
            <span>
              denied <PlainText text={host} />, {requests}×: <PlainText text={why} />
            </span>
          </li>
        ))}
        {limited.length === 0 ? null : (
          <li className="wide">
            <Icon name="check" />
            limits on {limited.join(", ")}
          </li>
        )}
      </ul>
    </section>
  );
}
