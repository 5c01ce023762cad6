import type { Command } from "commander";
import { WritError } from "../../../core/errors.ts";
import { isRegistryStatus, registryStatuses } from "../../../registry/job-record.ts";
import { publish } from "../../../registry/publish.ts";
import { sendWaiting } from "../../../registry/send-waiting.ts";
import { type JobMessage, type SubscriptionEnd, subscribe } from "../../../registry/subscribe.ts";
import { MqttFailure } from "../../../runtime/mqtt/connect-mqtt.ts";
import type { CliContext } from "../../context.ts";
import { print, wantsJson } from "../../terminal/print.ts";
import { neutraliseLine, safeJson } from "../../terminal/terminal.ts";
import { addPlaceOptions, placeOf, withRegistry } from "./registry-place.ts";

type PublishFlags = { job: string; event?: string; status?: string; data?: string };

export function definePublish(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("send an event of a job to its broker; without --event, send those that still wait")
    .requiredOption("--job <id>", "the job's id")
    .option("--event <name>", "what happened, such as tests_passed")
    .option("--status <status>", `also set the job's status: one of ${registryStatuses.join(", ")}`)
    .option("--data <json>", "more about it, as JSON of at most 64 KiB")
    .action((flags: PublishFlags) => withRegistry(context, () => sendEvent(context, command, flags)));
}

async function sendEvent(context: CliContext, command: Command, flags: PublishFlags): Promise<void> {
  const { job, event, status } = flags;
  const place = placeOf(context, command);
  if (event === undefined) {
    if (status !== undefined || flags.data !== undefined)
      return command.error("error: --status and --data belong to an event; give --event too");
    return reportWait(context, await sendWaiting(place, job));
  }
  const data = flags.data === undefined ? undefined : readData(flags.data);
  const { message, waits } = await publish(place, job, { event, status, data });
  const { job_id, seq } = message;
  print(context, command, { job_id, seq, sent: waits === null }, () => `${job_id} ${seq} ${event}\n`);
  reportWait(context, waits);
}

function readData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new WritError("INVALID_ARGUMENT", `--data: not valid JSON (${(error as Error).message})`);
  }
}

/** While a broker is away nothing is lost, so the command succeeds; a broker that refuses us is an error. */
function reportWait(context: CliContext, waits: MqttFailure | null): void {
  if (waits === null) return;
  const rest = "the event waits in the registry, and goes out with the next one";
  context.stderr.write(`${context.program}: ${neutraliseLine(waits.message)}; ${rest}\n`);
  if (waits.kind === "refused") context.exitCode = 1;
}

export function defineSubscribe(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description(
      "print the events of a job until it has ended; ends with 0 if it completed, 1 if not, 124 if its time is over",
    )
    .requiredOption("--job <id>", "the job's id")
    .action(({ job }: { job: string }) =>
      withRegistry(context, async () => {
        const isJson = wantsJson(command);
        const end = await subscribe(placeOf(context, command), job, {
          signal: context.stops.requested,
          onMessage: (message) => context.stdout.write(isJson ? `${safeJson(message)}\n` : lineOf(message)),
          onNotice: (notice) => context.stderr.write(`${context.program}: ${neutraliseLine(notice)}\n`),
        }).catch((error: unknown) => {
          throw error instanceof MqttFailure
            ? new WritError("UNAUTHENTICATED", error.message, adviceOf())
            : error;
        });
        context.exitCode = exitCodeOf(end);
      }),
    );
}

function adviceOf(): { advice: string } {
  return { advice: "check the user, the password and MQTT_CA_FILE" };
}

function lineOf({ ts, seq, event, status, data }: JobMessage): string {
  const more = data === null ? "" : `  ${safeJson(data)}`;
  return `${neutraliseLine(`${ts}  ${seq}  ${event}  ${status}${more}`)}\n`;
}

const timeOutCode = 124;

function exitCodeOf(end: SubscriptionEnd): number {
  if (!isRegistryStatus(end)) return timeOutCode;
  return end === "completed" ? 0 : 1;
}
