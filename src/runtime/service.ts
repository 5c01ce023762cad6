/** Something that runs until it is stopped. `stop()` resolves when it has stopped, not when it was asked to. */
export type Service = { readonly name: string; start(): Promise<void>; stop(): Promise<void> };

/**
 * Starts services in order. If one fails, those already started are stopped in reverse order, and its error is thrown.
 */
export async function startAll(services: readonly Service[]): Promise<void> {
  const started: Service[] = [];
  for (const service of services) {
    try {
      await service.start();
    } catch (error) {
      // The first error is thrown: an error while backing out would only hide why the start failed.
      await stopAll(started).catch(() => {});
      throw error;
    }
    started.push(service);
  }
}

/** Stops services in reverse order. If one fails, the others are still stopped; its error is thrown at the end. */
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

export { type RepeatedService, repeat } from "./clock/repeat.ts";
