import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  get,
  list,
  nextSeq,
  publish,
  readLog,
  register,
  setStatus,
  subscribe,
} from "../../src/registry/index.ts";
import type { JobMessage } from "../../src/signing/job-message.ts";
import { brokerCertificates } from "../support/broker-certificates.ts";
import { eventually } from "../support/eventually.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { runCommand } from "../support/run-command.ts";
import { emptyDirectory, jobctlRegistry } from "./registry-process.ts";

const withBroker = test.skipIf(noMosquitto !== undefined);
const job = { prompt: "p", agent: "a", agentSession: "s" };
const secret = "hunter2-hunter2";

test("without a broker nothing is sent, changed or guessed", async () => {
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, job);
  const home = join(cwd, "none");
  const run = (...args: string[]) => runCommand("jobctl", ["registry", ...args], { home, cwd });
  const sent = await run("publish", "--job", id, "--event", "e", "--status", "running");
  expect(sent).toMatchObject({ exitCode: 2, stdout: "" });
  expect(sent.stderr).toContain("the job has no broker, and there is no default one; set MQTT_HOST");
  expect((await run("subscribe", "--job", id)).exitCode).toBe(2);
  expect((await run("publish", "--job", id, "--status", "running")).exitCode).toBe(2);
  expect(await get({ cwd }, id)).toMatchObject({ status: "pending", last_seq: 0 });
  expect((await run("publish", "--job", "0badcafe", "--event", "e")).exitCode).toBe(1);
});

test.each([
  [{ MQTT_PORT: "70000" }, 'MQTT_PORT: "70000" is not allowed; use a port from 1 to 65535'],
  [{ MQTT_TLS: "maybe" }, 'MQTT_TLS: "maybe" is not allowed; use true or false'],
  [{ MQTT_VERSION: "4" }, 'MQTT_VERSION: "4" is not allowed; use 3.1.1 or 5'],
  [{ MQTT_CA_FILE: "/nowhere" }, "MQTT_CA_FILE: /nowhere cannot be read (ENOENT)"],
])("an environment that cannot be right is refused: %j", async (env, message) => {
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: "mqtt://ann@127.0.0.1:1" });
  await expect(publish({ cwd, env }, id, { event: "e" })).rejects.toThrow(message);
});

test("without its password an event waits, and the command fails", async () => {
  const cwd = emptyDirectory();
  const broker = { broker: "mqtt://ann@127.0.0.1:1", passwordEnv: "BROKER_PASSWORD" };
  const { job_id: id } = await register({ cwd }, { ...job, ...broker });
  const sent = await jobctlRegistry(cwd, ["publish", "--job", id, "--event", "e"]);
  expect([sent.code, sent.stdout]).toEqual([1, `${id} 1 e\n`]);
  expect(sent.stderr).toContain(
    "BROKER_PASSWORD, which should hold the broker's password, is not set; the event waits",
  );
  const flushed = await jobctlRegistry(cwd, ["publish", "--job", id], { BROKER_PASSWORD: secret });
  expect([flushed.code, flushed.stderr]).toMatchObject([0, expect.stringContaining("ECONNREFUSED")]);
});

test.each([
  [{ event: "a b" }, "event: use 1 to 100 letters"],
  [{ event: "e", data: "x".repeat(70_000) }, "data: at most 65536 bytes fit"],
  [{ event: "e", status: "done" }, '"done" is not a status'],
])("an event that cannot be sent is refused, and takes no number: %j", async (event, message) => {
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: "mqtt://127.0.0.1:1" });
  await expect(publish({ cwd }, id, event)).rejects.toThrow(message);
  expect(await nextSeq({ cwd }, id)).toBe(1);
});

withBroker.each(["3.1.1", "5"])(
  "events arrive in order and the last status stays (MQTT %s)",
  async (version) => {
    const broker = await Mosquitto.start();
    const listener = await broker.listen("writ/jobs/+/events");
    const cwd = emptyDirectory();
    const place = { cwd, env: { MQTT_VERSION: version } };
    const { job_id: id } = await register(place, { ...job, broker: broker.url });
    expect((await publish(place, id, { event: "begin", status: "running" })).waits).toBeNull();
    await publish(place, id, { event: "step", data: { done: 1, of: 2.5, name: "é" } });
    await publish(place, id, { event: "end", status: "completed" });
    const heard = await eventually("three events", () => listener.heard.length === 3 && listener.heard);
    const messages = heard.map(({ text }) => JSON.parse(text) as JobMessage);
    expect(messages).toMatchObject([
      { schema_version: 1, job_id: id, seq: 1, event: "begin", status: "running", data: null },
      { seq: 2, event: "step", status: "running", data: { done: 1, of: 2.5, name: "é" } },
      { seq: 3, event: "end", status: "completed" },
    ]);
    const late = await broker.listen(`writ/jobs/${id}/#`);
    const [kept] = await eventually("the status", () => late.heard.length > 0 && late.heard);
    expect(kept).toEqual({ topic: `writ/jobs/${id}/status`, text: heard[2]!.text, retain: true });
    const lines = await readLog(place, id);
    expect(lines.filter(({ event }) => event === "published").map(({ payload }) => payload)).toEqual(
      messages,
    );
    expect((await get(place, id)).last_seq).toBe(3);
  },
);

withBroker("events of a broker that is away wait, and go out in order with the next one", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("team/#");
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url, topicPrefix: "team/x" });
  await broker.kill();
  const away = await jobctlRegistry(cwd, ["publish", "--job", id, "--event", "one"]);
  expect([away.code, away.stdout]).toEqual([0, `${id} 1 one\n`]);
  expect(away.stderr).toContain("cannot be reached (ECONNREFUSED); the event waits in the registry");
  expect((await publish({ cwd }, id, { event: "two" })).waits?.kind).toBe("away");
  await broker.restart();
  const events = () => listener.heard.filter(({ topic }) => topic.endsWith("/events"));
  expect((await publish({ cwd }, id, { event: "three" })).waits).toBeNull();
  await eventually("all three", () => events().length === 3);
  expect(events().map(({ text }) => JSON.parse(text).seq)).toEqual([1, 2, 3]);
  await broker.kill();
  await publish({ cwd }, id, { event: "four" });
  await broker.restart();
  const flushed = await jobctlRegistry(cwd, ["publish", "--job", id]);
  expect([flushed.code, flushed.stderr]).toEqual([0, ""]);
  await eventually("the fourth", () => events().some(({ text }) => JSON.parse(text).event === "four"));
});

withBroker("processes that publish at the same time keep one order without a gap", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("writ/jobs/+/events");
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  const calls = Array.from({ length: 6 }, () =>
    jobctlRegistry(cwd, ["publish", "--job", id, "--event", "e"]),
  );
  for (const { code, stderr } of await Promise.all(calls)) expect([code, stderr]).toEqual([0, ""]);
  await eventually("six events", () => listener.heard.length >= 6);
  expect(listener.heard.map(({ text }) => JSON.parse(text).seq)).toEqual([1, 2, 3, 4, 5, 6]);
});

withBroker("a password is sent to the broker and is nowhere else; a wrong one is refused", async () => {
  const broker = await Mosquitto.start({ user: { name: "ann", password: secret } });
  const cwd = emptyDirectory();
  const url = `mqtt://ann@127.0.0.1:${broker.port}`;
  const { job_id: id } = await register({ cwd }, { ...job, broker: url, passwordEnv: "BROKER_PASSWORD" });
  const send = (env: Record<string, string>) =>
    jobctlRegistry(cwd, ["publish", "--job", id, "--event", "e"], env);
  const wrong = await send({ BROKER_PASSWORD: `${secret}-wrong` });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toMatch(/the broker at 127\.0\.0\.1:\d+ refuses this client \(.*[Nn]ot authorized\)/);
  const refused = await jobctlRegistry(cwd, ["subscribe", "--job", id], { BROKER_PASSWORD: "wrong" });
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  const right = await send({ BROKER_PASSWORD: secret });
  expect([right.code, right.stderr]).toEqual([0, ""]);
  const overridden = await send({ BROKER_PASSWORD: "wrong", MQTT_USERNAME: "ann", MQTT_PASSWORD: secret });
  expect([overridden.code, overridden.stderr]).toEqual([0, ""]);
  const shown = JSON.stringify([await get({ cwd }, id), await list({ cwd }), wrong, refused, right]);
  expect(shown).not.toContain(secret);
  for (const file of filesBelow(cwd))
    expect([file, readFileSync(file).includes(secret)]).toEqual([file, false]);
});

withBroker("TLS needs a certificate that is trusted", async () => {
  const [own, other] = [await brokerCertificates(), await brokerCertificates()];
  const broker = await Mosquitto.start({ tls: own });
  const cwd = emptyDirectory();
  const caFile = (name: string, pem: string): string => {
    writeFileSync(join(cwd, name), pem);
    return join(cwd, name);
  };
  const { job_id: id } = await register({ cwd }, { ...job, broker: `mqtts://127.0.0.1:${broker.port}` });
  const send = async (env: Record<string, string>) => (await publish({ cwd, env }, id, { event: "e" })).waits;
  expect(await send({})).toMatchObject({
    kind: "refused",
    message: expect.stringContaining("cannot be trusted"),
  });
  expect(await send({ MQTT_CA_FILE: caFile("other.pem", other.ca) })).toMatchObject({ kind: "refused" });
  expect(await send({ MQTT_CA_FILE: caFile("own.pem", own.ca) })).toBeNull();
});

withBroker("a subscriber prints events and ends as the job does", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  for (const [end, code] of [
    ["completed", 0],
    ["error", 1],
    ["cancelled", 1],
  ] as const) {
    const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url, auth: true });
    const followed = jobctlRegistry(cwd, ["subscribe", "--job", id, "--json"]);
    // Until it hears us: a subscriber gets the last event, and what is sent after it has come.
    let isOver = false;
    void followed.then(() => {
      isOver = true;
    });
    await eventually("it has heard something", async () => {
      await publish({ cwd }, id, { event: "step" });
      return (await readLog({ cwd }, id)).some(({ event }) => event === "received");
    });
    expect(isOver).toBe(false);
    await publish({ cwd }, id, { event: "end", status: end });
    const ended = await followed;
    const messages = ended.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as JobMessage);
    expect([ended.code, messages.at(-1)]).toMatchObject([code, { event: "end", status: end }]);
    const again = await jobctlRegistry(cwd, ["subscribe", "--job", id]);
    expect([again.code, again.stdout]).toEqual([code, expect.stringMatching(/^\S+ {2}\d+ {2}end {2}\w+\n$/)]);
  }
});

withBroker("events that waited when a subscriber came are shown when they go out", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  await publish({ cwd }, id, { event: "before" });
  const nowhere = { cwd, env: { MQTT_PORT: "1" } };
  for (const event of ["one", "two"]) expect((await publish(nowhere, id, { event })).waits).not.toBeNull();
  const [events, notices]: [string[], string[]] = [[], []];
  const followed = subscribe({ cwd }, id, {
    onMessage: ({ event }) => events.push(event),
    onNotice: (notice) => notices.push(notice),
  });
  const stranger = await broker.listen("unrelated");
  await eventually("it listens", async () => {
    await stranger.publish(`writ/jobs/${id}/events`, "{nonsense");
    return notices.length > 0;
  });
  await publish({ cwd }, id, { event: "end", status: "completed" });
  expect(await followed).toBe("completed");
  expect(events).toEqual(["before", "one", "two", "end"]);
  expect(notices).not.toContain("messages may be missing here");
});

withBroker("a subscriber says that the broker to which it was connected is away, once", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  const notices: string[] = [];
  const followed = subscribe({ cwd }, id, { onMessage() {}, onNotice: (notice) => notices.push(notice) });
  const stranger = await broker.listen("unrelated");
  await eventually("it listens", async () => {
    await stranger.publish(`writ/jobs/${id}/events`, "{nonsense");
    return notices.length > 0;
  });
  await broker.kill();
  const isAway = (notice: string) => /has ended|cannot be reached/.test(notice);
  await expect.poll(() => notices.filter(isAway).length, { timeout: 20_000 }).toBeGreaterThan(0);
  await setStatus({ cwd }, id, "cancelled");
  expect(await followed).toBe("cancelled");
  expect(notices.filter(isAway)).toEqual([expect.stringMatching(/; trying again$/)]);
});

withBroker("a forged message is ignored where the job has a token", async () => {
  const broker = await Mosquitto.start();
  const forger = await broker.listen("unrelated");
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url, auth: true });
  const [messages, notices]: [JobMessage[], string[]] = [[], []];
  const followed = subscribe({ cwd }, id, {
    onMessage: (message) => messages.push(message),
    onNotice: (notice) => notices.push(notice),
  });
  const forged = {
    schema_version: 1,
    job_id: id,
    seq: 900,
    event: "end",
    status: "completed",
    ts: "",
    data: null,
  };
  await eventually("the forgery was noticed", async () => {
    await forger.publish(`writ/jobs/${id}/events`, JSON.stringify(forged));
    await forger.publish(`writ/jobs/${id}/events`, "{nonsense");
    return notices.length > 1;
  });
  expect(new Set(notices)).toEqual(
    new Set([
      "a message without the right MAC was ignored",
      "something that is no message about this job was ignored",
    ]),
  );
  await publish({ cwd }, id, { event: "stop", status: "cancelled" });
  expect(await followed).toBe("cancelled");
  expect(messages).toMatchObject([{ seq: 1, event: "stop" }]);
});

withBroker("a subscriber ends with 124 when the time of the job is over", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url, idleTimeoutSec: 1 });
  expect((await jobctlRegistry(cwd, ["subscribe", "--job", id])).code).toBe(124);
  const { job_id: slow } = await register({ cwd }, { ...job, broker: broker.url, timeoutSec: 1 });
  expect(await subscribe({ cwd }, slow, { onMessage: () => {} })).toBe("timeout");
});

withBroker("a subscriber outlives its broker", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  const seqs: number[] = [];
  const followed = subscribe({ cwd }, id, { onMessage: ({ seq }) => seqs.push(seq) });
  const hears = async () => {
    const before = seqs.length;
    await eventually("a message", async () => {
      await publish({ cwd }, id, { event: "step" });
      return seqs.length > before;
    });
  };
  await hears();
  await broker.restart();
  await hears();
  await broker.kill();
  // What the broker cannot tell, the registry does.
  await publish({ cwd }, id, { event: "end", status: "completed" });
  expect(await followed).toBe("completed");
});

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile());
}
