import type { Readable } from "node:stream";
import type { AgentReport } from "../contract/shapes/agent-shapes.ts";
import { WritError } from "../core/errors.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { decodePayload, namesIn, readAll, readPayload, readPayloadFile } from "./read-payload.ts";
import { RelayCaller } from "./relay-caller.ts";
import { type FinishedJob, failedReport, runJob } from "./run-job.ts";

export type RunJobOptions = { payloadBase64?: string; payloadFile?: string; relay?: boolean };

/** `run-job`: prints exactly one line, whatever happens; the exit code is the worker's. */
export async function runJobCommand(
  { stdin, stdout }: Pick<AgentDeps, "stdin" | "stdout">,
  openDeps: () => AgentDeps,
  options: RunJobOptions,
): Promise<number> {
  let text = "";
  try {
    // First of all, so that whatever else is wrong is reported with the name of the job.
    const caller = new RelayCaller(stdin);
    text = await payloadText(stdin, options, caller);
    const finished = await runJob(openDeps(), readPayload(text), options.relay === true ? caller : undefined);
    stdout.write(reportLine(finished));
    return finished.report.exit_code;
  } catch (error) {
    const names = namesIn(text);
    const report = failedReport(error, names);
    logFailure(openDeps, { job: names.job_id }, report);
    stdout.write(reportLine({ report, resultJson: undefined }));
    return report.exit_code;
  }
}

function logFailure(
  openDeps: () => AgentDeps,
  subject: { job?: string | undefined },
  { error }: AgentReport,
): void {
  try {
    openDeps().log.error(subject, `the agent failed: ${error?.message}`);
  } catch {
    // The settings are wrong, so the place of the log is not known.
  }
}

async function payloadText(stdin: Readable, options: RunJobOptions, caller: RelayCaller): Promise<string> {
  const { payloadBase64, payloadFile, relay } = options;
  if ([payloadBase64, payloadFile, relay || undefined].filter((given) => given !== undefined).length > 1) {
    throw new WritError(
      "INVALID_ARGUMENT",
      "--payload-base64, --payload-file and --relay (which reads standard input) exclude each other",
    );
  }
  if (payloadBase64 !== undefined) return decodePayload(payloadBase64);
  if (payloadFile !== undefined) return readPayloadFile(payloadFile);
  return relay ? caller.readPayload() : readAll(stdin);
}

/** The line for a call whose options are wrong. */
export function wrongCallLine(message: string): string {
  const report = failedReport(new WritError("INVALID_ARGUMENT", message), {});
  return reportLine({ report, resultJson: undefined });
}

/** The result stays as the job wrote it. */
function reportLine({ report, resultJson }: FinishedJob): string {
  const { error, output_files, ...head } = report;
  const fields = Object.entries({ ...head, error, output_files })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  if (resultJson !== undefined) fields.push(`"result":${oneLine(resultJson)}`);
  return `{${fields.join(",")}}\n`;
}

/** JSON has line breaks only between its parts. */
function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, " ");
}
