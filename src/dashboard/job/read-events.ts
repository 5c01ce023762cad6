import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { EventView } from "../../contract/shapes/view-shapes.ts";
import { callHub } from "../hub/call-hub.ts";

const pageEvents = 1_000;
/** 50,000 events; a job that reports its progress every second has them after half a day. */
const pagesMax = 50;

/** The events of the job that is shown; another job replaces them. */
let known: { jobId: string; events: readonly EventView[] } = { jobId: "", events: [] };

/** All events of a job, oldest first. Events that were read are kept, so that each call reads only new ones. */
export async function readJobEvents(jobId: string): Promise<readonly EventView[]> {
  const events = known.jobId === jobId ? [...known.events] : [];
  for (let page = 0; page < pagesMax; page++) {
    const query = { after: events.at(-1)?.seq ?? 0, limit: pageEvents };
    const { body } = await callHub(pageRoutes.listJobEvents, { params: { id: jobId }, query });
    events.push(...body);
    if (body.length < pageEvents) break;
  }
  known = { jobId, events };
  return events;
}
