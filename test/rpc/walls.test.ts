import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { issueTo, list, rpcHubForAll, type Stub, start, stubForAll } from "./rpc-hub.ts";

const hub = rpcHubForAll();
const root = stubForAll(hub, () => hub.root);
const alice = stubForAll(hub, () => issueTo(hub, "alice", "acme"));
const bob = stubForAll(hub, () => issueTo(hub, "bob", "acme"));
const eve = stubForAll(hub, () => issueTo(hub, "eve", "globex"));
const gus = stubForAll(hub, () => issueTo(hub, "gus", "initech"));
const ada = stubForAll(hub, () => issueTo(hub, "ada", "acme", true));

const unknownId = "01900000-0000-7000-8000-000000000000";

test("a job that is not there is NOT_FOUND, whatever its id looks like", async () => {
  for (const job_id of [unknownId, "nope", "../../etc/passwd", "x".repeat(5000)]) {
    for (const method of ["GetStatus", "StopJob"]) {
      expect(await alice.refused(method, { job_id }), method).toMatchObject({ code: status.NOT_FOUND });
    }
  }
});

test.each(["GetStatus", "StopJob", "StreamOutput"])(
  "%s of a colleague's job is denied, and noted",
  async (method) => {
    const job_id = await start(alice);
    const [before, state] = [lastSeq(hub.home), snapshot(hub.home)];
    expect(await attempt(bob, method, job_id)).toMatchObject({ code: status.PERMISSION_DENIED });
    expect(readEvents(hub.home, before)).toMatchObject([
      {
        event: "PERMISSION_DENIED",
        tenant_id: "acme",
        job_id,
        origin: { userId: "bob", endpoint: `writ.v1.JobService/${method}`, method: "gRPC" },
      },
    ]);
    expect(snapshot(hub.home)).toBe(state);
  },
);

test.each(["GetStatus", "StopJob", "StreamOutput"])(
  "%s of another tenant's job is as of one that is not there, but noted",
  async (method) => {
    const job_id = await start(alice);
    const before = lastSeq(hub.home);
    const refusal = await attempt(eve, method, job_id);
    const unknown = await attempt(eve, method, unknownId);
    expect({ ...refusal, details: refusal.details.replace(job_id, unknownId) }).toEqual(unknown);
    expect(refusal).toMatchObject({ code: status.NOT_FOUND });
    // A17: the trail of the tenant that asked tells them apart no more than the answer does.
    const noted = { event: "PERMISSION_DENIED", tenant_id: "globex", job_id: null };
    expect(readEvents(hub.home, before)).toMatchObject([
      { ...noted, details: { job_id } },
      { ...noted, details: { job_id: unknownId } },
    ]);
  },
);

test("an administrator sees the jobs of the tenant and of no other, the home's own person those of all", async () => {
  const [job_id, other] = [await start(alice), await start(gus)];
  expect(await ada.call("GetStatus", { job_id })).toMatchObject({ job_id, user: "alice", tenant: "acme" });
  expect(await ada.refused("GetStatus", { job_id: other })).toMatchObject({ code: status.NOT_FOUND });
  expect(await root.call("GetStatus", { job_id })).toMatchObject({ job_id, tenant: "acme" });
  expect(await root.call("GetStatus", { job_id: other })).toMatchObject({ job_id: other, tenant: "initech" });
});

test("lists show one's own jobs, an administrator's those of the tenant", async () => {
  const [ofAlice, ofBob] = [await start(alice), await start(bob)];
  const idsFor = async (stub: Stub) => (await list(stub)).map(({ job_id }) => job_id);
  expect(await idsFor(alice)).toContain(ofAlice);
  expect(await idsFor(alice)).not.toContain(ofBob);
  expect(await idsFor(ada)).toEqual(expect.arrayContaining([ofAlice, ofBob]));
  expect(await idsFor(eve)).toEqual([]);
});

async function attempt(stub: Stub, method: string, job_id: string) {
  if (method !== "StreamOutput") return stub.refused(method, { job_id });
  const error = await Array.fromAsync(stub.stream({ job_id })).then(
    () => ({ code: 0, details: "it was let through" }),
    ({ code, details }) => ({ code, details }),
  );
  return error as { code: number; details: string };
}
