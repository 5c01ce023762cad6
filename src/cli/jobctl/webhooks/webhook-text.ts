import type { Webhook } from "../../../client/index.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** Everything that a person asks about a webhook. */
export function webhookText(webhook: Webhook): string {
  const { name, url, state, events, filter, seq, delivered, given_up, failing, disabled, secrets, secret } =
    webhook;
  const [, before] = secrets;
  const lines = [
    `name:       ${name}`,
    `url:        ${url}`,
    `state:      ${state}${disabled === null ? "" : ` since ${timeText(disabled.at)}: ${disabled.reason}`}`,
    `events:     ${events.join(", ")}`,
    ...(filter.types === undefined ? [] : [`types:      ${filter.types.join(", ")}`]),
    ...(filter.user_ids === undefined ? [] : [`users:      ${filter.user_ids.join(", ")}`]),
    `seq:        ${seq}`,
    `delivered:  ${delivered.count}${delivered.last === null ? "" : `, the last at ${timeText(delivered.last.at)}`}`,
    ...(given_up.last === null ? [] : [givenUpLine(given_up.count, given_up.last)]),
    ...(failing === null ? [] : [failingLine(failing)]),
    ...(before?.expires_at ? [`old secret: valid until ${timeText(before.expires_at)}`] : []),
    ...(secret === undefined ? [] : [`secret:     ${secret}`, "            It is shown only now."]),
  ];
  return lines.map((line) => `${neutraliseLine(line)}\n`).join("");
}

function givenUpLine(
  count: number,
  { seq, job_id, status }: NonNullable<Webhook["given_up"]["last"]>,
): string {
  return `given up:   ${count}, the last event ${seq} of job ${job_id}, which was answered ${status}`;
}

function failingLine({ seq, since, tries, reason, next_at }: NonNullable<Webhook["failing"]>): string {
  return `failing:    since ${timeText(since)}: ${reason}; event ${seq}, ${tries} tries, the next at ${timeText(next_at)}`;
}
