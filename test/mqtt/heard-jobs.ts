import type { JobMessage } from "../../src/signing/job-message.ts";
import type { Listener } from "../support/mosquitto.ts";

/** What a listener has heard of each job, in the order in which it came, without what came twice. */
export function heardJobs({ heard }: Pick<Listener, "heard">): Map<string, JobMessage[]> {
  const jobs = new Map<string, JobMessage[]>();
  for (const { topic, text } of heard) {
    if (!topic.endsWith("/events")) continue;
    const message = JSON.parse(text) as JobMessage;
    const known = jobs.get(message.job_id) ?? [];
    if (message.seq > (known.at(-1)?.seq ?? 0)) known.push(message);
    jobs.set(message.job_id, known);
  }
  return jobs;
}
