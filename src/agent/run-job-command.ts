import type { Writable } from "node:stream";
import { WritError } from "../core/errors.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { decodePayload, type ReadPayload, readAll, readPayload, readPayloadFile } from "./read-payload.ts";
import { RelayCaller } from "./relay-caller.ts";
import { type FinishedJob, failedReport, runJob } from "./run-job.ts";

export type RunJobOptions = { payloadBase64?: string; payloadFile?: string; relay?: boolean };

/** `run-job`: prints exactly one line, whatever happens; the exit code is the worker's. */
export async function runJobCommand(
  stdout: Writable,
  openDeps: () => AgentDeps,
  options: RunJobOptions,
): Promise<number> {
  let deps: AgentDeps | undefined;
  let payload: ReadPayload | undefined;
  try {
    deps = openDeps();
    const caller = new RelayCaller(deps.stdin);
    payload = readPayload(await payloadText(deps, options, caller));
    const finished = await runJob(deps, payload, options.relay === true ? caller : undefined);
    stdout.write(reportLine(finished));
    return finished.report.exit_code;
  } catch (error) {
    const report = failedReport(error, payload);
    deps?.log.error({ job: payload?.job_id }, `the agent failed: ${report.error?.message}`);
    stdout.write(reportLine({ report, resultJson: undefined }));
    return report.exit_code;
  }
}

async function payloadText(deps: AgentDeps, options: RunJobOptions, caller: RelayCaller): Promise<string> {
  const { payloadBase64, payloadFile, relay } = options;
  if ([payloadBase64, payloadFile, relay || undefined].filter((given) => given !== undefined).length > 1) {
    throw new WritError(
      "INVALID_ARGUMENT",
      "--payload-base64, --payload-file and --relay (which reads standard input) exclude each other",
    );
  }
  if (payloadBase64 !== undefined) return decodePayload(payloadBase64);
  if (payloadFile !== undefined) return readPayloadFile(payloadFile);
  return relay ? caller.readPayload() : readAll(deps.stdin);
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
