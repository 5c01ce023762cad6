import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { readMessage } from "../../src/signing/job-message.ts";
import { brokerCertificates } from "../support/broker-certificates.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { completedJob, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { runCommand } from "../support/run-command.ts";
import { issueTokens } from "../support/tokens.ts";
import { heardJobs } from "./heard-jobs.ts";

const withBroker = test.skipIf(noMosquitto !== undefined);

async function hubWith(env: Record<string, string>, options: Parameters<typeof startTestHub>[1] = {}) {
  const hub = await startTestHub({ ...stillEnv, ...env }, options);
  let isStopped = false;
  const stop: TestHub["stop"] = async (how) => {
    if (isStopped) return;
    isStopped = true;
    await hub.stop(how);
  };
  onTestFinished(() => stop());
  return { ...hub, stop };
}

async function mqttState(hub: TestHub): Promise<string | undefined> {
  return (await hub.call("GET", "//healthz")).json<{ mqtt?: string }>().mqtt;
}

async function metric(hub: TestHub, name: string): Promise<number> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

function privateFile(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-mqtt-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "secret"), `${text}\n`, { mode: 0o600 });
  return join(dir, "secret");
}

test("without a broker, nothing is said of one", async () => {
  const hub = await hubWith({});
  expect(await mqttState(hub)).toBeUndefined();
  expect(await metric(hub, "writ_mqtt_connected")).toBe(0);
});

test.each([
  [{ WRIT_MQTT_URL: "http://broker" }, 'WRIT_MQTT_URL: "http://broker" is not allowed; use mqtt://'],
  [{ WRIT_MQTT_URL: "mqtts://ann:secret@broker" }, "WRIT_MQTT_URL: must not contain a password"],
  [{ WRIT_MQTT_URL: "mqtt://broker" }, "events would go to broker unencrypted; use mqtts://"],
  [{ WRIT_MQTT_HMAC_KEY_FILE: "/key" }, "WRIT_MQTT_HMAC_KEY_FILE set without WRIT_MQTT_URL"],
  [{ WRIT_MQTT_URL: "mqtt://localhost", WRIT_MQTT_PASSWORD_FILE: "/x" }, "WRIT_MQTT_URL names no user"],
  [{ WRIT_MQTT_URL: "mqtt://localhost", WRIT_MQTT_HMAC_KEY_FILE: "/no" }, "/no does not exist or is empty"],
  [{ WRIT_MQTT_URL: "mqtt://localhost", WRIT_MQTT_CA_FILE: "/no" }, "/no cannot be read (ENOENT)"],
  [{ WRIT_MQTT_URL: "mqtt://localhost", WRIT_MQTT_VERSION: "3" }, "use one of 3.1.1, 5"],
])("a hub does not start with %j", async (env, message) => {
  await expect(startTestHub(env as never)).rejects.toThrow(message);
});

withBroker("the life of a job is told in order, with the state after each event", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("writ/#");
  const hub = await hubWith({ WRIT_MQTT_URL: broker.url });
  const { id } = await completedJob(hub);
  const messages = await eventually("four events", () => {
    const known = heardJobs(listener).get(id) ?? [];
    return known.length === 4 && known;
  });
  expect(messages.map(({ seq, event, status }) => [seq, event, status])).toEqual([
    [1, "JOB_CREATED", "pending"],
    [2, "JOB_ASSIGNED", "running"],
    [3, "JOB_STARTED", "running"],
    [4, "JOB_COMPLETED", "completed"],
  ]);
  expect(messages[3]).toMatchObject({ schema_version: 1, job_id: id, data: { status: "completed" } });
  const { id: stopped } = await submitJob(hub);
  await hub.must("DELETE", `/jobs/${stopped}`, { token: hub.admin });
  await eventually("the stop", () => heardJobs(listener).get(stopped)?.at(-1)?.status === "cancelled");
  expect(await mqttState(hub)).toBe("connected");
  expect(await metric(hub, "writ_mqtt_connected")).toBe(1);
  await eventually("both are counted", async () => (await metric(hub, "writ_mqtt_published_total")) >= 6);
});

withBroker("tenants have topics of their own, and the last state of each job stays", async () => {
  const broker = await Mosquitto.start();
  const hub = await hubWith({ WRIT_MQTT_URL: broker.url, WRIT_MQTT_VERSION: "5" });
  const tokens = await issueTokens(hub);
  const { id: ours } = await submitJob(hub, { token: tokens.alice });
  const { id: theirs } = await submitJob(hub, { token: tokens.eve });
  const tenantOf = async (id: string) =>
    (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ tenant_id: string }>().tenant_id;
  const [mine, other] = [await tenantOf(ours), await tenantOf(theirs)];
  expect(mine).not.toBe(other);
  await eventually("it is kept", () => isKept(broker, ours));
  const listener = await broker.listen(`writ/${mine}/#`);
  const kept = await eventually("the state that stays", () => listener.heard.find(({ retain }) => retain));
  expect(kept.topic).toBe(`writ/${mine}/jobs/${ours}/status`);
  expect(JSON.parse(kept.text)).toMatchObject({ job_id: ours, event: "JOB_CREATED", status: "pending" });
  const all = await broker.listen("writ/#");
  await eventually("both", () => all.heard.length >= 2);
  expect(listener.heard.filter(({ topic }) => !topic.startsWith(`writ/${mine}/`))).toEqual([]);
});

withBroker("messages carry a MAC when the hub has a key for it", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("writ/+/jobs/+/events");
  const key = "a key of sixteen characters and more";
  const hub = await hubWith({ WRIT_MQTT_URL: broker.url, WRIT_MQTT_HMAC_KEY_FILE: privateFile(key) });
  await submitJob(hub);
  const [first] = await eventually("a message", () => listener.heard.length > 0 && listener.heard);
  expect(readMessage(first!.text, key)?.isAuthentic).toBe(true);
  expect(readMessage(first!.text, "another key of that length")?.isAuthentic).toBe(false);
});

/** Whether the broker gives anything of the job to somebody who begins to listen now. */
async function isKept(broker: Mosquitto, id: string): Promise<boolean> {
  const late = await broker.listen("writ/#");
  // Whatever is kept comes at once; this one comes after it.
  await late.publish("writ/end", "end");
  await eventually("the end", () => late.heard.some(({ topic }) => topic === "writ/end"));
  return late.heard.some(({ retain, text }) => retain && text.includes(id));
}

withBroker("a job that is removed leaves nothing at the broker", async () => {
  const broker = await Mosquitto.start();
  const env = { WRIT_MQTT_URL: broker.url };
  const hub = await hubWith(env);
  const { id } = await completedJob(hub);
  const listener = await broker.listen("writ/#");
  await eventually("its state is kept", () => isKept(broker, id));
  await hub.stop({ keepHome: true });
  const later = { ...systemClock, nowMs: () => Date.now() + 40 * 86_400_000 };
  const again = await hubWith(env, { home: hub.home, clock: later });
  await eventually("its removal", () => heardJobs(listener).get(id)?.at(-1)?.event === "JOB_REMOVED");
  expect(
    heardJobs(listener)
      .get(id)
      ?.map(({ seq }) => seq)
      .at(-1),
  ).toBe(5);
  await eventually("nothing is left", async () => !(await isKept(broker, id)));
  await again.stop();
});

withBroker("a broker that refuses the hub is named, and jobs go on", async () => {
  const broker = await Mosquitto.start({ user: { name: "ann", password: "right-password" } });
  const passwordFile = privateFile("wrong-password");
  const url = `mqtt://ann@127.0.0.1:${broker.port}`;
  const hub = await hubWith({ WRIT_MQTT_URL: url, WRIT_MQTT_PASSWORD_FILE: passwordFile });
  await eventually("it is refused", async () => (await mqttState(hub)) === "refused");
  const { id } = await completedJob(hub);
  const { stdout, exitCode } = await runCommand("writ", ["doctor"], { home: hub.home });
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining(`${url} refuses the hub`)]);
  await eventually("the lag shows", async () => (await metric(hub, "writ_mqtt_lag_events")) > 0);
  await hub.stop({ keepHome: true });
  writeFileSync(passwordFile, "right-password\n", { mode: 0o600 });
  const listener = await broker.listen("writ/#", { username: "ann", password: "right-password" });
  await hubWith({ WRIT_MQTT_URL: url, WRIT_MQTT_PASSWORD_FILE: passwordFile }, { home: hub.home });
  await eventually("what waited", () => heardJobs(listener).get(id)?.length === 4);
});

withBroker("a new password is read without a restart", async () => {
  const broker = await Mosquitto.start({ user: { name: "ann", password: "right-password" } });
  const passwordFile = privateFile("wrong-password");
  const url = `mqtt://ann@127.0.0.1:${broker.port}`;
  const hub = await hubWith({ WRIT_MQTT_URL: url, WRIT_MQTT_PASSWORD_FILE: passwordFile });
  await eventually("it is refused", async () => (await mqttState(hub)) === "refused");
  writeFileSync(passwordFile, "right-password\n", { mode: 0o600 });
  await eventually("it is connected", async () => (await mqttState(hub)) === "connected");
});

withBroker("a broker with a certificate of another authority is not trusted", async () => {
  const [own, other] = [await brokerCertificates(), await brokerCertificates()];
  const broker = await Mosquitto.start({ tls: own });
  const url = `mqtts://127.0.0.1:${broker.port}`;
  const hub = await hubWith({ WRIT_MQTT_URL: url, WRIT_MQTT_CA_FILE: privateFile(other.ca) });
  await eventually("it is refused", async () => (await mqttState(hub)) === "refused");
  await hub.stop({ keepHome: true });
  const again = await hubWith(
    { WRIT_MQTT_URL: url, WRIT_MQTT_CA_FILE: privateFile(own.ca) },
    { home: hub.home },
  );
  await eventually("it is connected", async () => (await mqttState(again)) === "connected");
});

withBroker("the doctor says whether events arrive", async () => {
  const broker = await Mosquitto.start();
  const hub = await hubWith({ WRIT_MQTT_URL: broker.url });
  await eventually("it is connected", async () => (await mqttState(hub)) === "connected");
  expect((await runCommand("writ", ["doctor"], { home: hub.home })).stdout).toContain(
    `events go to ${broker.url}`,
  );
  await broker.kill();
  await eventually("it is away", async () => (await mqttState(hub)) === "away");
  const { stdout } = await runCommand("writ", ["doctor"], { home: hub.home });
  expect(stdout).toContain(`${broker.url} cannot be reached; events wait in the database`);
});

withBroker("an outage of broker and hub at once loses nothing", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("writ/#");
  const env = { WRIT_MQTT_URL: broker.url };
  const hub = await hubWith(env);
  const { id: before } = await completedJob(hub);
  await eventually("the first job", () => heardJobs(listener).get(before)?.length === 4);
  await broker.kill();
  const workerId = await registerWorker(hub);
  const { id: during } = await runningJob(hub, { workerId });
  await hub.stop({ keepHome: true });
  const again = await hubWith(env, { home: hub.home });
  const { id: after } = await completedJob(again);
  await broker.restart();
  await eventually("everything", () => heardJobs(listener).get(after)?.length === 4);
  const seqs = (id: string) =>
    heardJobs(listener)
      .get(id)
      ?.map(({ seq }) => seq);
  expect([seqs(before), seqs(during)?.slice(0, 3), seqs(after)]).toEqual([
    [1, 2, 3, 4],
    [1, 2, 3],
    [1, 2, 3, 4],
  ]);
});
