import { invalidArgument } from "../core/errors.ts";
import { relativePathProblem } from "../core/path-rules.ts";
import { parseBroker } from "./broker.ts";
import type { Broker } from "./job-record.ts";

export type Registration = {
  prompt: string;
  agent: string;
  agentSession: string;
  /** How long it may run after it was picked. By default 600 seconds. */
  timeoutSec?: number | undefined;
  /** How long `subscribe` waits for another change of status or event. By default 120 seconds. */
  idleTimeoutSec?: number | undefined;
  /** Files that the job is to leave, relative to where the agent works. */
  expectedArtifacts?: readonly string[] | undefined;
  /** `mqtt://[user@]host[:port]`, or `mqtts://` for TLS. Without it, MQTT_HOST names the broker. */
  broker?: string | undefined;
  /** The variable that holds the broker's password. */
  passwordEnv?: string | undefined;
  topicPrefix?: string | undefined;
  /** Whether messages carry a MAC that only holders of this registry can make and check. */
  auth?: boolean | undefined;
};

export type CheckedRegistration = Required<Omit<Registration, "broker" | "passwordEnv" | "topicPrefix">> & {
  broker: Broker | null;
  topicPrefix: string | null;
};

const promptBytesMax = 256 * 1024;
const nameLengthMax = 200;
const secondsMax = 604_800;
const artifactsMax = 100;

/** The registration with its defaults. Throws INVALID_ARGUMENT with the field at fault. */
export function checkRegistration(input: Registration): CheckedRegistration {
  const { expectedArtifacts = [], broker, passwordEnv } = input;
  if (expectedArtifacts.length > artifactsMax)
    throw refused("expected-artifact", `give at most ${artifactsMax}`);
  for (const path of expectedArtifacts) {
    const problem = relativePathProblem(path);
    if (problem !== null) throw refused("expected-artifact", `${JSON.stringify(path)} ${problem}`);
  }
  if (broker === undefined && passwordEnv !== undefined)
    throw refused("password-env", "names the password of a broker; give --broker too");
  return {
    prompt: checkPrompt(input.prompt),
    agent: checkName("agent", input.agent),
    agentSession: checkSession(input.agentSession),
    timeoutSec: checkSeconds("timeout", input.timeoutSec ?? 600),
    idleTimeoutSec: checkSeconds("idle-timeout", input.idleTimeoutSec ?? 120),
    expectedArtifacts,
    broker: broker === undefined ? null : parseBroker(broker, passwordEnv),
    topicPrefix: input.topicPrefix === undefined ? null : checkTopicPrefix(input.topicPrefix),
    auth: input.auth ?? false,
  };
}

export function checkSession(session: string): string {
  return checkName("agent-session", session);
}

function checkPrompt(prompt: string): string {
  const bytes = Buffer.byteLength(prompt);
  if (prompt.trim() === "") throw refused("prompt", "must not be empty");
  if (bytes > promptBytesMax) throw refused("prompt", `has ${bytes} bytes; at most ${promptBytesMax} fit`);
  if (prompt.includes("\0") || !prompt.isWellFormed()) throw refused("prompt", "must be text without NUL");
  return prompt;
}

function checkName(field: string, name: string): string {
  if (name.length <= nameLengthMax && /^[^\p{Cc}\p{Cs}]+$/u.test(name)) return name;
  throw refused(field, `use 1 to ${nameLengthMax} characters on one line`);
}

function checkSeconds(field: string, seconds: number): number {
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= secondsMax) return seconds;
  throw refused(field, `${seconds} is not a number of seconds from 1 to ${secondsMax}`);
}

/** Wildcards would make it many topics, and topics that begin with $ belong to the broker. */
function checkTopicPrefix(prefix: string): string {
  const isTopic = /^[^$/+#\p{Cc}\p{Cs}][^+#\p{Cc}\p{Cs}]*$/u.test(prefix) && !prefix.endsWith("/");
  if (isTopic && prefix.length <= nameLengthMax) return prefix;
  throw refused(
    "topic-prefix",
    `${JSON.stringify(prefix.slice(0, nameLengthMax))} is not a topic; use 1 to ${nameLengthMax} characters without + and #, such as team/jobs`,
  );
}

function refused(field: string, message: string): Error {
  return invalidArgument({ path: field, message });
}
