import { jobRoutes } from "../../contract/routes/job-routes.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import type { TimelineEvent } from "../shapes.ts";

const pageSize = 1_000;

/** The events of a job, oldest first, read page by page. */
export async function* readTimeline(hub: HubCaller, id: string): AsyncGenerator<TimelineEvent> {
  let after = 0;
  for (;;) {
    const query = { after, limit: pageSize };
    const { body: page } = await hub.call(jobRoutes.listJobEvents, { params: { id }, query });
    yield* page;
    const last = page.at(-1)?.seq;
    if (last === undefined || last <= after || page.length < pageSize) return;
    after = last;
  }
}
