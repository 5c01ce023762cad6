import type { RouteInput, RouteRequest } from "../../src/contract/routes/build-request.ts";
import { callRoute } from "../../src/contract/routes/call-route.ts";
import type { RouteAnswer } from "../../src/contract/routes/read-answer.ts";
import type { Route } from "../../src/contract/routes/route.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import { WritError } from "../../src/core/errors.ts";

/** What a page in a browser would do with a hub. It is bundled for one and has nothing of Node. */
export async function visit(hub: { url: string; token: string }) {
  const call = client(hub);
  const { body: made } = await call(routes.submitJob, { body: { type: "from.a.page", params: { n: 1.5 } } });
  const { body: job } = await call(routes.getJob, { params: { id: made.id } });
  const page = await call(routes.listJobs, { query: { type: "from.a.page", limit: 1 } });
  const { status } = await call(routes.cancelJob, { params: { id: made.id } });
  const refusal = await call(routes.retryJob, {
    params: { id: job.id.replace(/.{12}$/, "0".repeat(12)) },
  }).catch((error) => error);
  return {
    job: { id: made.id, type: job.type, run: job.run?.kind, params: job.params, stdout: job.output.stdout },
    listed: page.body.map(({ id }) => id),
    next: page.header("x-next-cursor"),
    cancelled: status,
    refusal: refusal instanceof WritError ? refusal.code : String(refusal),
  };
}

function client({ url, token }: { url: string; token: string }) {
  const send = async ({ path, headers, ...request }: RouteRequest) => {
    const authorization = `Bearer ${token}`;
    const response = await fetch(url + path, {
      method: request.method,
      headers: { ...headers, authorization },
      // This page sends JSON only.
      body: request.body as string | undefined,
    });
    const text = await response.text();
    const header = (name: string) => response.headers.get(name) ?? undefined;
    return { status: response.status, header, text: () => text };
  };
  return <R extends Route>(route: R, input: RouteInput<R>): Promise<RouteAnswer<R>> =>
    callRoute(send, route, input);
}
