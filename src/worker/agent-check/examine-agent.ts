import { WritError } from "../../core/errors.ts";
import { isOutsideAgent } from "../../runners/delegate/agent-problems.ts";
import type { AgentEntry, Capability, DelegateSettings } from "../../runners/delegate/delegate-settings.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { openSandbox } from "../processes/open-sandbox.ts";
import type { WorkerSettings } from "../settings.ts";
import { type AgentTrial, tryAgent, withTrialFolder } from "./try-agent.ts";

type Finding = { check: string; state: "ok" | "warning" | "problem"; says: string };

/** A start from a cold disk and five answers take seconds; a program that waits for a person would wait for ever. */
const trialMs = 120_000;

/** Tries an agent of a worker's settings in the cage, and reports which of its four tasks succeeded. */
export async function examineAgent(
  settings: WorkerSettings,
  { agent, model }: { agent: string; model: string | undefined },
): Promise<Finding[]> {
  const { delegate } = settings;
  const entry = delegate?.agents.find(({ name }) => name === agent);
  if (delegate === undefined || entry === undefined) throw noSuchAgent(delegate, agent);
  const why = notTried(entry);
  if (why !== null) return [{ check: agent, state: "warning", says: why }];
  const capability = capabilityFor(delegate, model);
  const trial = await withTrialFolder(async (dir) => {
    const uid = process.getuid?.() ?? -1;
    const place = { settings: { ...settings, workDir: dir }, logger: silentLogger, clock: systemClock };
    const { sandbox } = await openSandbox({ ...place, mayMove: false, uid });
    try {
      const deps = { settings, sandbox, clock: systemClock, logger: silentLogger };
      return await tryAgent({ deps, delegate, entry, capability, dir, timeoutMs: trialMs });
    } finally {
      await sandbox.close();
    }
  });
  return findingsOf(agent, trial);
}

function noSuchAgent(delegate: DelegateSettings | undefined, agent: string): WritError {
  const names = (delegate?.agents ?? []).map(({ name }) => name).join(", ") || "none";
  return new WritError(
    "INVALID_ARGUMENT",
    `--agent: this worker has no agent ${JSON.stringify(agent)}; it has: ${names}`,
  );
}

function notTried(entry: AgentEntry): string | null {
  if (entry.builtin !== undefined)
    return "is built in and does nothing but ask its model, so there is nothing to try";
  return isOutsideAgent(entry)
    ? "is a program that somebody else runs, so it cannot be tried from here"
    : null;
}

function capabilityFor({ capabilities }: DelegateSettings, model: string | undefined): Capability {
  const known = capabilities.find((capability) => model === undefined || capability.model === model);
  return known ?? { provider: "OPENROUTER", model: model ?? "writ-doctor", timeoutMs: trialMs };
}

function findingsOf(check: string, trial: AgentTrial): Finding[] {
  if (trial.turns === 0) return [neverAsked(check, trial)];
  const finding = (held: boolean, yes: string, no: string): Finding =>
    held ? { check, state: "ok", says: yes } : { check, state: "problem", says: no };
  const findings = [
    finding(trial.readsTask, "reads its task", "its model has not seen the task"),
    finding(trial.edits, "edits a file that it may change", "has not edited the file that it may change"),
    finding(trial.runsTests, "runs a command", "has not run a command"),
    finding(
      trial.isRefused,
      "is refused where it may not write",
      "was not refused by the cage where it may not write, or did not try",
    ),
  ];
  const isFine = findings.every(({ state }) => state === "ok");
  return isFine ? findings : [...findings, { check, state: "problem", says: `it ${endOf(trial)}` }];
}

/**
 * None of the four tasks can be judged: the agent may be a script that needs no model, or may have called another one.
 */
function neverAsked(check: string, trial: AgentTrial): Finding {
  const says = `did not ask the model on loopback for anything, so what it would do could not be tried: a script that uses no model is fine as it is; a coding agent has to be given the address of its model ({endpoint}, or the variables of its documentation); it ${endOf(trial)}`;
  return { check, state: trial.outcome.kind === "succeeded" ? "warning" : "problem", says };
}

const outputCharsShown = 600;

/** The end of the run, with the output that helps a person to find the cause. */
function endOf({ outcome, output }: AgentTrial): string {
  const how = outcome.kind === "succeeded" ? "exited with code 0" : `failed: ${outcome.reason}`;
  const said = output.trim().slice(-outputCharsShown).toWellFormed();
  return `${how}${said === "" ? "; it printed nothing" : `; the end of what it printed: ${said}`}`;
}
