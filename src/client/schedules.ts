import type { z } from "zod";
import { scheduleRoutes } from "../contract/routes/schedule-routes.ts";
import type { scheduleBody, scheduleView } from "../contract/shapes/schedule-shapes.ts";
import type { HubCaller } from "./hub/hub-caller.ts";

/** What is submitted when, with the fields of `PUT /schedules/:name`. */
export type ScheduleInput = z.input<typeof scheduleBody>;
export type Schedule = z.infer<typeof scheduleView>;

/** Jobs that the hub submits again and again. */
export class Schedules {
  readonly #hub: HubCaller;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  /** Creates or changes it. The same again changes nothing; a new timing begins now. */
  async put(name: string, schedule: ScheduleInput): Promise<Schedule> {
    return (await this.#hub.call(scheduleRoutes.putSchedule, { params: { name }, query: {}, body: schedule }))
      .body;
  }

  /** With its next times, and what became of its last occurrences. */
  async get(name: string): Promise<Schedule> {
    return (await this.#hub.call(scheduleRoutes.getSchedule, { params: { name }, query: {} })).body;
  }

  /** All that the caller may see, by tenant and name, read page by page. */
  async *list(): AsyncGenerator<Schedule> {
    let cursor: string | undefined;
    do {
      const { body, header } = await this.#hub.call(scheduleRoutes.listSchedules, { query: { cursor } });
      yield* body;
      cursor = header("x-next-cursor");
    } while (cursor !== undefined);
  }

  async remove(name: string): Promise<void> {
    await this.#hub.call(scheduleRoutes.removeSchedule, { params: { name }, query: {} });
  }

  /** What would be due during a pause is not caught up. */
  async pause(name: string): Promise<Schedule> {
    return (await this.#hub.call(scheduleRoutes.pauseSchedule, { params: { name }, query: {} })).body;
  }

  async resume(name: string): Promise<Schedule> {
    return (await this.#hub.call(scheduleRoutes.resumeSchedule, { params: { name }, query: {} })).body;
  }

  /** Makes a job now, beside those of the clock; returns its id. */
  async run(name: string): Promise<string> {
    return (await this.#hub.call(scheduleRoutes.runSchedule, { params: { name }, query: {} })).body.job_id;
  }

  /** Makes the jobs of past occurrences that have made none; returns how many wait for that now. */
  async backfill(name: string, range: { from: Date; to: Date }): Promise<number> {
    const body = { from: range.from.getTime(), to: range.to.getTime() };
    return (await this.#hub.call(scheduleRoutes.backfillSchedule, { params: { name }, query: {}, body })).body
      .added;
  }
}
