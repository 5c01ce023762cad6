/** Something that runs until it is stopped. `stop()` returns when it is over, not when it was asked. */
export type Service = { readonly name: string; start(): Promise<void>; stop(): Promise<void> };

/** Starts in order; when one fails, those already started are stopped in reverse and its error is thrown. */
export async function startAll(services: readonly Service[]): Promise<void> {
  const started: Service[] = [];
  for (const service of services) {
    try {
      await service.start();
    } catch (error) {
      // The first reason wins: what goes wrong while backing out would only hide why the start failed.
      await stopAll(started).catch(() => {});
      throw error;
    }
    started.push(service);
  }
}

/** Stops in reverse order. One that fails does not keep the others running; its error is thrown at the end. */
export async function stopAll(services: readonly Service[]): Promise<void> {
  const failures: unknown[] = [];
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      failures.push(error);
    }
  }
  throwAny(failures);
}

/** One service made of several that start one after the other and stop at the same time: none waits for another's grace. */
export function together(name: string, services: readonly Service[]): Service {
  return {
    name,
    start: () => startAll(services),
    async stop() {
      const stops = await Promise.allSettled(services.map((service) => service.stop()));
      throwAny(stops.flatMap((stop) => (stop.status === "rejected" ? [stop.reason] : [])));
    },
  };
}

function throwAny(failures: unknown[]): void {
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} services failed to stop`);
}

export { type RepeatedService, repeat } from "./repeat.ts";
