import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { jobStatus, type RpcService, refusal, startTinyRpcHub } from "../../../test/support/tiny-rpc-hub.ts";
import type { startJobRequest } from "../../contract/gen/writ/v1/job_service.ts";
import type { MessageOf } from "../../runtime/grpc/wire-message.ts";
import type { RpcOptions } from "./find-rpc.ts";
import { JobsOverGrpc } from "./jobs-over-grpc.ts";

const id = "01890000-0000-7000-8000-000000000001";

async function open(service: RpcService, options: { isExpired?: boolean } = {}) {
  const hub = await startTinyRpcHub(service, options);
  onTestFinished(() => hub[Symbol.asyncDispose]());
  return { hub, jobs: connect({ home: hub.home, user: "tester" }) };
}

function connect(options: RpcOptions): JobsOverGrpc {
  const jobs = new JobsOverGrpc(options);
  onTestFinished(() => jobs.close());
  return jobs;
}

function emptyHome(): string {
  const home = mkdtempSync(join(tmpdir(), "writ-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

test("a home without a hub is unreachable and named", async () => {
  const home = emptyHome();
  await expect(connect({ home, user: "u" }).status(id)).rejects.toMatchObject({
    code: "HUB_UNREACHABLE",
    message: expect.stringContaining(home),
  });
});

test.each(["a:1,", "a:1,b", "a:1, a:1", Array.from({ length: 17 }, (_, index) => `a:${index + 1}`).join()])(
  "%s is no list of gRPC addresses",
  async (address) => {
    await expect(connect({ address, user: "u" }).status(id)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  },
);

test("the next address is used when one refuses connections or stops, and a repeated start is the same job", async () => {
  const keys: (string | undefined)[] = [];
  const { hub } = await open({
    startJob: async ({ idempotency_key }) => {
      keys.push(idempotency_key);
      if (keys.length === 1) throw refusal("UNAVAILABLE", "stopping");
      return { job_id: id };
    },
  });
  const address = `127.0.0.1:${hub.port},localhost:${hub.port},127.0.0.1:1`;
  const given = { home: hub.home, user: "tester", address };
  expect(await connect({ ...given, random: () => 0.99 }).start({ command: ["true"] })).toBe(id);
  expect(keys.length).toBe(2);
  expect(keys[0]).toMatch(/.{20}/);
  expect(keys[1]).toBe(keys[0]);
  const dead = connect({ home: hub.home, user: "tester", address: "127.0.0.1:1,127.0.0.1:2" });
  await expect(dead.status(id)).rejects.toThrow(
    /no hub can be reached \(.*127\.0\.0\.1:[12] .*127\.0\.0\.1:[12] /,
  );
});

test.each(["hub", "hub:0", "hub:99999", "https://hub:1", "a b:1", "x@hub:1"])(
  "%s is no gRPC address",
  async (address) => {
    await expect(connect({ address, user: "u" }).status(id)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  },
);

test.each(["..", "a/b", "."])("%j is no user", async (user) => {
  const { hub } = await open({});
  await expect(connect({ home: hub.home, user }).status(id)).rejects.toThrow("not a user name");
});

test("the error for a missing certificate says where it was looked for and which command makes one", async () => {
  const { hub, jobs } = await open({});
  rmSync(join(hub.home, "client.crt"));
  await expect(jobs.status(id)).rejects.toThrow(/certificate of user tester .*client\.crt.*writ certs issue/);
});

test("a key that others can read is refused", async () => {
  const { hub, jobs } = await open({});
  chmodSync(join(hub.home, "client.key"), 0o644);
  await expect(jobs.status(id)).rejects.toThrow("chmod 600");
});

test("an expired certificate is named as the reason", async () => {
  const { jobs } = await open({ getStatus: () => jobStatus() }, { isExpired: true });
  await expect(jobs.status(id)).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: expect.stringContaining("expired"),
  });
});

test("a certificate of another authority is refused", async () => {
  const { hub } = await open({ getStatus: () => jobStatus() });
  const { hub: other } = await open({});
  const options = {
    home: hub.home,
    user: "tester",
    certFile: join(other.home, "client.crt"),
    keyFile: join(other.home, "client.key"),
  };
  await expect(connect(options).status(id)).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
});

test("a server of another authority is not taken for the hub", async () => {
  const { hub } = await open({ getStatus: () => jobStatus() });
  const { hub: other } = await open({});
  const options = { home: hub.home, user: "tester", caFile: join(other.home, "ca.crt") };
  await expect(connect(options).status(id)).rejects.toMatchObject({
    code: "HUB_UNREACHABLE",
    details: { advice: expect.stringContaining("--ca") },
  });
});

test("an address where nothing listens is unreachable", async () => {
  const { hub } = await open({});
  const jobs = connect({ home: hub.home, user: "tester", address: "127.0.0.1:1" });
  await expect(jobs.status(id)).rejects.toMatchObject({
    code: "HUB_UNREACHABLE",
    message: expect.stringContaining("127.0.0.1:1"),
  });
});

test.each([
  ["NOT_FOUND", undefined, "NOT_FOUND"],
  ["PERMISSION_DENIED", undefined, "PERMISSION_DENIED"],
  ["INVALID_ARGUMENT", undefined, "INVALID_ARGUMENT"],
  ["FAILED_PRECONDITION", undefined, "STATE_CONFLICT"],
  ["UNAUTHENTICATED", undefined, "UNAUTHENTICATED"],
  ["UNAVAILABLE", undefined, "SHUTTING_DOWN"],
  ["UNAVAILABLE", "LOCKDOWN", "LOCKDOWN"],
  ["RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "QUOTA_EXCEEDED"],
  ["NOT_FOUND", "LOCKDOWN", "NOT_FOUND"],
  ["UNKNOWN", undefined, "INTERNAL"],
] as const)("status %s with name %s is %s", async (status, name, expected) => {
  const headers: Record<string, string> = name === undefined ? {} : { "writ-code": name };
  const { jobs } = await open({
    getStatus: () => {
      throw refusal(status, "because", headers);
    },
  });
  await expect(jobs.status(id)).rejects.toMatchObject({ code: expected, message: "because" });
});

test("start sends what it was given and leaves the rest to the hub", async () => {
  let seen: MessageOf<typeof startJobRequest> | undefined;
  const { jobs } = await open({
    startJob: (request) => {
      seen = request;
      return { job_id: id };
    },
  });
  const command = ["sh", "-c", ""];
  expect(
    await jobs.start({ command, limits: { cpu: "1" }, env: { A: "b" }, tags: ["x"], timeoutSec: 9 }),
  ).toBe(id);
  expect(seen).toMatchObject({
    command,
    env: { A: "b" },
    requires: { tags: ["x"] },
    timeout_sec: 9,
    cwd: "",
  });
  expect(seen?.limits).toMatchObject({ cpu: "1", memory: "", io: "", pids: 0 });
});

test("a status has plain values under the names of the proto", async () => {
  const { jobs } = await open({
    stopJob: () => ({
      status: jobStatus({
        state: "STOPPED",
        stdout_bytes: 2 ** 40,
        started_at: 5,
        exit_code: 0,
        fail_code: "CANCELLED",
      }),
    }),
  });
  expect(await jobs.stop(id)).toMatchObject({
    state: "STOPPED",
    exit_code: 0,
    fail_code: "CANCELLED",
    fail_detail: null,
    stdout_bytes: 2 ** 40,
    started_at: 5,
    ended_at: null,
    isolation: null,
    worker: null,
  });
});

test("a list continues to the last page", async () => {
  const { jobs } = await open({
    listJobs: ({ page_token }) => ({
      jobs: [jobStatus({ job_id: `job ${page_token}` })],
      next_page_token: page_token === "2" ? "" : String(Number(page_token) + 1),
    }),
  });
  const found: string[] = [];
  for await (const job of jobs.list()) found.push(job.job_id);
  expect(found).toEqual(["job ", "job 1", "job 2"]);
});

test("the user's folder of the home comes before a certificate that lies in it openly", async () => {
  const { hub, jobs } = await open({ getStatus: () => jobStatus() });
  const folder = join(hub.home, "certs", "tester");
  mkdirSync(folder, { recursive: true });
  for (const name of ["client.crt", "client.key"]) renameSync(join(hub.home, name), join(folder, name));
  renameSync(join(hub.home, "ca.crt"), join(hub.home, "certs", "ca.crt"));
  writeFileSync(join(hub.home, "client.crt"), "not looked at");
  expect((await jobs.status(id)).state).toBe("RUNNING");
});

test("a stream whose connection is cut continues where it stopped", async () => {
  const text = "0123456789".repeat(1000);
  let calls = 0;
  const { hub, jobs } = await open({
    getStatus: () => jobStatus(calls < 3 ? {} : { state: "EXITED", stdout_bytes: text.length }),
    async *streamOutput({ offset, attempt }) {
      calls++;
      const end = Math.min(text.length, calls * 4000);
      yield { data: Buffer.from(text.slice(Number(offset), end)), offset, attempt };
      if (calls < 3) {
        setImmediate(() => hub.cut());
        await new Promise(() => {});
      }
    },
  });
  let read = "";
  for await (const { data } of jobs.stream(id)) read += Buffer.from(data).toString();
  expect(read).toBe(text);
  expect(calls).toBe(3);
});
