import { type TemplateJob, templateJob } from "../../../contract/shapes/schedule-shapes.ts";
import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import type { NewJob } from "../../../core/jobs/job.ts";
import type { ScheduleSpec, Waiting } from "../../../core/schedules/schedule.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { checkCommand } from "../jobs/command-policy.ts";
import { makeDocuments } from "../jobs/make-documents.ts";

type Whose = Pick<StandingOrder, "tenantId" | "userId" | "name">;

/** The submission that an order keeps. It was checked when it was put, and is read by today's rules. */
function readTemplate(job: string): TemplateJob {
  return templateJob.parse(parseJson(job));
}

/** A job for each occurrence. Throws if the owner may not run the command any more, or if the template is not valid any more. */
export function makeJobs(
  deps: Pick<HubDeps, "settings" | "ids">,
  whose: Whose,
  made: { spec: ScheduleSpec; entries: readonly Waiting[]; nowMs: number },
): NewJob[] {
  const { spec, entries, nowMs } = made;
  if (entries.length === 0) return [];
  const template = readTemplate(spec.job);
  checkCommand(deps.settings.commands, { userId: whose.userId, submission: template });
  const submissions = entries.map((entry) => withOccurrence(template, whose.name, entry));
  const newId = () => deps.ids.jobId(nowMs);
  return makeDocuments(submissions, whose, { nowMs, defaulted: undefined, newId });
}

/** In the signed document, so a worker can trust it. */
function withOccurrence(
  template: TemplateJob,
  name: string,
  { at, by, name: occurrence }: Waiting,
): JobSubmission {
  const schedule = { name, occurrence, scheduled_for: new Date(at).toISOString(), by };
  return { ...template, metadata: { ...template.metadata, schedule } };
}
