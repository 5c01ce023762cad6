import { readFile } from "node:fs/promises";
import { codeOf, invalidArgument, WritError } from "../core/errors.ts";
import { brokerUrlHelp, defaultPort, parseBrokerUrl } from "../runtime/mqtt/broker-address.ts";
import { MqttFailure, type MqttOptions } from "../runtime/mqtt/connect-mqtt.ts";
import type { Broker } from "./job-record.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The broker of a record. A password in its address is refused: it would be stored, and stand in the process list. */
export function parseBroker(url: string, passwordEnv: string | undefined): Broker {
  const address = parseBrokerUrl(url);
  if (address === "has a password") {
    const message = "must not contain a password; name the variable that holds it with --password-env";
    throw invalidArgument({ path: "broker", message });
  }
  if (address === "not an address") {
    const message = `is not the address of a broker; use ${brokerUrlHelp}`;
    throw invalidArgument({ path: "broker", message });
  }
  if (passwordEnv !== undefined && !/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(passwordEnv))
    throw invalidArgument({ path: "password-env", message: "is not the name of a variable" });
  return { ...address, password_env: passwordEnv ?? null };
}

/**
 * How to reach the broker of a job: what its record says, unless MQTT_* in the environment says otherwise. Throws
 * CONFIG_INVALID, or an MqttFailure if the password is missing: the broker would refuse us.
 */
export async function brokerOptions(broker: Broker | null, env: Environment = {}): Promise<MqttOptions> {
  const host = env["MQTT_HOST"] || broker?.host;
  if (host === undefined) {
    throw new WritError("CONFIG_INVALID", "the job has no broker, and there is no default one", {
      advice: "set MQTT_HOST, or register the job with --broker",
    });
  }
  const tls = env["MQTT_TLS"] ? flag("MQTT_TLS", env["MQTT_TLS"]) : (broker?.tls ?? false);
  const caFile = env["MQTT_CA_FILE"];
  return {
    host,
    port: env["MQTT_PORT"] ? port(env["MQTT_PORT"]) : (broker?.port ?? defaultPort(tls)),
    tls,
    username: env["MQTT_USERNAME"] || (broker?.username ?? null),
    password: env["MQTT_PASSWORD"] || passwordOf(broker, env),
    ca: caFile ? await readAuthority(caFile) : null,
    protocolVersion: version(env["MQTT_VERSION"] || "3.1.1"),
  };
}

function passwordOf(broker: Broker | null, env: Environment): string | null {
  const name = broker?.password_env ?? null;
  if (name === null) return null;
  const password = env[name];
  if (password) return password;
  throw new MqttFailure("refused", `${name}, which should hold the broker's password, is not set`);
}

function flag(name: string, value: string): boolean {
  if (value === "true" || value === "1") return true;
  if (value === "false" || value === "0") return false;
  throw notAllowed(name, value, "true or false");
}

function port(value: string): number {
  const number = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= 65_535) return number;
  throw notAllowed("MQTT_PORT", value, "a port from 1 to 65535");
}

function version(value: string): 4 | 5 {
  if (value === "3.1.1") return 4;
  if (value === "5") return 5;
  throw notAllowed("MQTT_VERSION", value, "3.1.1 or 5");
}

async function readAuthority(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new WritError("CONFIG_INVALID", `MQTT_CA_FILE: ${file} cannot be read (${codeOf(error)})`);
  }
}

function notAllowed(name: string, value: string, allowed: string): WritError {
  return new WritError("CONFIG_INVALID", `${name}: ${JSON.stringify(value)} is not allowed; use ${allowed}`);
}
