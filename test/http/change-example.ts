import type { Example } from "./route-examples.ts";

/** The job that the example is about. */
export function jobIdIn(example: Example): string {
  return (example.params?.["id"] ?? example.query?.["job_id"])!;
}

export function withJob(example: Example, id: string): Partial<Example> {
  return example.params === undefined
    ? { query: { ...example.query, job_id: id } }
    : { params: { ...example.params, id } };
}

/** The example in the name of another worker, wherever it names one. */
export function asWorker(example: Example, workerId: string): Partial<Example> {
  if (example.headers?.["X-Worker-Id"] !== undefined)
    return { headers: { ...example.headers, "X-Worker-Id": workerId } };
  if (example.query?.["worker_id"] !== undefined) return { query: { ...example.query, worker_id: workerId } };
  if (example.body !== undefined && "worker_id" in (example.body as object))
    return { body: { ...(example.body as object), worker_id: workerId } };
  return { params: { id: workerId } };
}

/** The example in the name of another attempt; what is undefined is left out. */
export function withFence(example: Example, fence: { attempt?: number; token?: string }): Partial<Example> {
  if (example.headers === undefined) return { body: { ...(example.body as object), ...fence } };
  const { "X-Job-Attempt": attempt, "X-Lease-Token": token, ...rest } = example.headers;
  const present = { attempt, token, ...fence };
  return {
    headers: {
      ...rest,
      ...(present.attempt === undefined ? {} : { "X-Job-Attempt": String(present.attempt) }),
      ...(present.token === undefined ? {} : { "X-Lease-Token": present.token }),
    },
  };
}
