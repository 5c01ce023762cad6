import { createHttpClient } from "../src/runtime/http/http-client.ts";
import type { BenchHub } from "./_hub.ts";

export type Calls = ReturnType<typeof connect>;

const timeoutMs = 60_000;

/** The HTTP API with nothing in between, for one token: answers are not checked, so that only the hub is measured. */
export function connect(hub: Pick<BenchHub, "url" | "token">) {
  const http = createHttpClient({ baseUrls: [hub.url], token: hub.token });
  const post = async <T>(path: string, body: unknown, okStatuses: number[]): Promise<T | null> => {
    const { status, text } = await http.request({
      method: "POST",
      path: `/api/v1${path}`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      timeoutMs,
    });
    if (!okStatuses.includes(status)) throw new Error(`POST ${path} was answered with ${status}: ${text()}`);
    return status === 204 ? null : (JSON.parse(text()) as T);
  };
  return {
    submit: (job: object) => post<{ id: string }>("/jobs", job, [201]),
    submitBatch: (jobs: object[]) => post<{ jobs: { id: string }[] }>("/jobs/batch", { jobs }, [201]),
    register: (worker: object) => post<null>("/workers/register", worker, [204]),
    claim: (workerId: string) => post<ClaimedJob>("/jobs/claim", { worker_id: workerId }, [200, 204]),
    claimBatch: (workerId: string, max: number) =>
      post<{ jobs: { id: string; lease: string }[] }>(
        "/jobs/claim-batch",
        { worker_id: workerId, max },
        [200, 204],
      ),
    finish: (job: ClaimedJob, workerId: string) => {
      const { attempt, token } = job;
      return post(`/jobs/${job.id}/result`, { worker_id: workerId, attempt, token, result: null }, [200]);
    },
    finishBatch: (workerId: string, items: object[]) =>
      post("/jobs/results", { worker_id: workerId, items }, [200]),
    close: () => http.close(),
  };
}

export type ClaimedJob = { id: string; attempt: number; token: string };
