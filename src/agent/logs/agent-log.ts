import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../../runtime/clock/clock.ts";
import { redactText } from "../../runtime/log/redact.ts";
import type { AgentSettings } from "../agent-settings.ts";
import { SharedLog } from "./shared-log.ts";

/** What a line is about; it is written as `job=ID` and `worker=http_PORT`. */
type Subject = { job?: string | undefined; worker?: string | undefined };

export type AgentLog = {
  info(subject: Subject, message: string): void;
  /** Also on agent.err.log. */
  error(subject: Subject, message: string): void;
  /** The log of a worker, with the same rules of rotation. */
  open(file: string): SharedLog;
};

/** The agent's own two logs, one line for each event. */
export function openAgentLog(settings: Pick<AgentSettings, "logDir" | "rotation">, clock: Clock): AgentLog {
  const errorFile = join(settings.logDir, "agent.err.log");
  const onRotationFailed = (file: string, reason: string): void => {
    const message = `${basename(file)} cannot be rotated (${reason}); it grows until it can`;
    if (!tailOf(errorFile).includes(message)) errors.append(lineOf(clock, "error", {}, message));
  };
  const open = (file: string) =>
    new SharedLog({ clock, rotation: settings.rotation, onRotationFailed }, file);
  const errors = new SharedLog(
    // Its own failure is reported in the same way, and only once, because the report does not rotate again.
    { clock, rotation: settings.rotation, onRotationFailed },
    errorFile,
  );
  const all = open(join(settings.logDir, "agent.log"));
  return {
    open,
    info: (subject, message) => all.append(lineOf(clock, "info", subject, message)),
    error(subject, message) {
      const line = lineOf(clock, "error", subject, message);
      all.append(line);
      errors.append(line);
    },
  };
}

function lineOf(clock: Clock, level: string, { job, worker }: Subject, message: string): string {
  const about = [
    ...(job === undefined ? [] : [`job=${job}`]),
    ...(worker === undefined ? [] : [`worker=${worker}`]),
  ];
  const words = [new Date(clock.nowMs()).toISOString(), level, ...about, oneLine(message)];
  return `${redactText(words.join(" "))}\n`;
}

const messageCharsMax = 4000;

/** A message may quote what a worker sent. */
function oneLine(message: string): string {
  return message.slice(0, messageCharsMax).replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");
}

const tailBytes = 64 * 1024;

/** The failure is reported once, not by each of the many processes that meet it. */
function tailOf(file: string): string {
  try {
    const fd = openSync(file, "r");
    try {
      const buffer = Buffer.alloc(tailBytes);
      const from = Math.max(0, fstatSync(fd).size - tailBytes);
      return buffer.toString("utf8", 0, readSync(fd, buffer, 0, tailBytes, from));
    } finally {
      closeSync(fd);
    }
  } catch {
    // There is no log yet, or this user cannot read it.
    return "";
  }
}
