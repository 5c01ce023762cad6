import { randomBytes } from "node:crypto";
import type { IClientOptions, MqttClient } from "mqtt";
import { codeOf } from "../../core/errors.ts";
import { systemClock } from "../clock/clock.ts";
import type { BrokerAddress } from "./broker-address.ts";

export type MqttOptions = BrokerAddress & {
  password: string | null;
  /** PEM of the authority that signed the broker's certificate; by default those that Node trusts. */
  ca: string | null;
  /** 4 is MQTT 3.1.1. */
  protocolVersion: 4 | 5;
};

export type MqttMessage = { topic: string; payload: string; retain: boolean };

/**
 * Why a broker cannot be used. `away`: it may be there later. `refused`: it, or its certificate, answered with a
 * refusal; a person has to change something. Its message contains no password.
 */
export class MqttFailure extends Error {
  readonly kind: "away" | "refused";

  constructor(kind: MqttFailure["kind"], message: string) {
    super(message);
    this.name = "MqttFailure";
    this.kind = kind;
  }
}

/** One connection to a broker. It never connects again by itself: the caller knows what to send again. */
export type MqttConnection = {
  /** Sends with QoS 1. Resolves when the broker has the message. Messages arrive in the order of these calls. */
  publish(message: MqttMessage): Promise<void>;
  /** How many messages may wait for the broker's answer at the same time. */
  readonly inFlightMax: number;
  /** Resolves when the broker has accepted it. */
  subscribe(topic: string, onMessage: (payload: Buffer) => void): Promise<void>;
  /** Resolves with the reason when the connection has ended, for whatever reason. */
  readonly ended: Promise<MqttFailure>;
  close(): Promise<void>;
};

const connectMsMax = 10_000;
/** A broker that is alive answers within seconds; a connection that hangs is given up. */
const answerMsMax = 30_000;
const closeMsMax = 1_000;
const keepaliveSec = 30;
/** A broker of MQTT 5 may want fewer. */
const inFlightMost = 100;

/** Connects to a broker. Rejects with an MqttFailure. Why: ADR 0050. */
export async function connectMqtt(options: MqttOptions, signal: AbortSignal): Promise<MqttConnection> {
  // Large, and most programs never need it.
  const { connect } = await import("mqtt");
  signal.throwIfAborted();
  const client = connect(clientOptions(options));
  const { promise: ended, resolve: end } = Promise.withResolvers<MqttFailure>();
  const { promise: connected, resolve: accept } = Promise.withResolvers<number>();
  const place = `${options.host}:${options.port}`;
  // An error comes before the close that it causes, and says more.
  client.on("error", (error) => end(failureOf(error, place)));
  client.on("close", () => end(new MqttFailure("away", `the connection to ${place} has ended`)));
  client.on("connect", ({ properties }) => accept(properties?.receiveMaximum ?? inFlightMost));
  const stop = (): void => end(new MqttFailure("away", "stopped"));
  signal.addEventListener("abort", stop, { once: true });
  const late = timeOut(connectMsMax, place);
  const outcome = await Promise.race([connected, ended, late.promise]);
  late.cancel();
  signal.removeEventListener("abort", stop);
  if (typeof outcome === "number") {
    return openConnection(client, { ended, end, place, inFlightMax: Math.min(outcome, inFlightMost) });
  }
  client.end(true);
  throw outcome;
}

function clientOptions({ host, port, tls, username, password, ca, protocolVersion }: MqttOptions) {
  return {
    host,
    port,
    protocol: tls ? "mqtts" : "mqtt",
    protocolVersion,
    clientId: `writ-${randomBytes(8).toString("hex")}`,
    clean: true,
    keepalive: keepaliveSec,
    // Not by itself: see MqttConnection.
    reconnectPeriod: 0,
    connectTimeout: connectMsMax,
    rejectUnauthorized: true,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(ca === null ? {} : { ca }),
  } satisfies IClientOptions;
}

type Parts = {
  ended: Promise<MqttFailure>;
  end(failure: MqttFailure): void;
  place: string;
  inFlightMax: number;
};

function openConnection(client: MqttClient, { ended, end, place, inFlightMax }: Parts): MqttConnection {
  const topics = new Map<string, (payload: Buffer) => void>();
  client.on("message", (topic, payload) => topics.get(topic)?.(payload));
  let waiting = 0;
  /** The answer of the broker, or the end of the connection, whichever comes first. */
  const answered = async (ask: (done: (error?: Error | null) => void) => void): Promise<void> => {
    const answer = new Promise<MqttFailure | null>((resolve) =>
      ask((error) => resolve(error ? failureOf(error, place) : null)),
    );
    waiting++;
    const late = timeOut(answerMsMax, place);
    const failure = await Promise.race([answer, ended, late.promise]);
    late.cancel();
    // What was never answered keeps it from closing gently.
    if (failure !== null) throw fail(failure);
    waiting--;
  };
  const fail = (failure: MqttFailure): MqttFailure => {
    end(failure);
    return failure;
  };
  return {
    ended,
    inFlightMax,
    publish: ({ topic, payload, retain }) =>
      answered((done) => void client.publish(topic, payload, { qos: 1, retain }, done)),
    async subscribe(topic, onMessage) {
      topics.set(topic, onMessage);
      await answered((done) => void client.subscribe(topic, { qos: 1 }, done));
    },
    async close() {
      end(new MqttFailure("away", "closed"));
      // Without force it waits for answers, and for the other side to close; neither may ever come.
      const late = timeOut(closeMsMax, place);
      await Promise.race([client.endAsync(waiting > 0 || !client.connected), late.promise]);
      late.cancel();
      client.end(true);
    },
  };
}

/** The broker's refusals, in 3.1.1 and in 5: bad user, bad password, not authorized, banned. */
const refusals: readonly unknown[] = [2, 4, 5, 133, 134, 135, 138, 140];

function failureOf(error: Error, place: string): MqttFailure {
  const code = codeOf(error);
  if ("code" in error && refusals.includes(error.code)) {
    const said = error.message.replace(/^Connection refused: /, "");
    return new MqttFailure("refused", `the broker at ${place} refuses this client (${said})`);
  }
  if (/^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO)/.test(code))
    return new MqttFailure("refused", `the broker at ${place} cannot be trusted (${code})`);
  return new MqttFailure("away", `the broker at ${place} cannot be reached (${code})`);
}

function timeOut(ms: number, place: string): { promise: Promise<MqttFailure>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<MqttFailure>();
  const failure = (): MqttFailure => new MqttFailure("away", `the broker at ${place} does not answer`);
  const timer = systemClock.setTimer(() => resolve(failure()), ms);
  return { promise, cancel: () => timer.cancel() };
}
