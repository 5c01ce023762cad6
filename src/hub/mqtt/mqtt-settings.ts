import { readFile } from "node:fs/promises";
import { codeOf } from "../../core/errors.ts";
import { isLoopback } from "../../runtime/hubs/hub-address.ts";
import { type BrokerAddress, parseBrokerUrl } from "../../runtime/mqtt/broker-address.ts";
import type { MqttOptions } from "../../runtime/mqtt/connect-mqtt.ts";
import { readSecret, refusedSetting } from "../settings/secret-setting.ts";
import type { HubSettings } from "../settings/settings.ts";

type BrokerFields = Pick<
  HubSettings,
  "mqttUrl" | "mqttPasswordFile" | "mqttCaFile" | "mqttHmacKeyFile" | "mqttVersion" | "mqttPlaintext"
>;

export type MqttSettings = {
  broker: MqttOptions;
  /** Reads the password, which may have changed since the start. */
  readPassword?: () => Promise<string>;
  /** Authenticates messages. */
  hmacKey: string | null;
};

const keyLengthMin = 16;

/** Refuses settings at the start that would otherwise fail with the first event. */
export function checkMqttSettings(fields: BrokerFields): void {
  if (fields.mqttUrl === null) {
    const rest = {
      WRIT_MQTT_PASSWORD_FILE: fields.mqttPasswordFile,
      WRIT_MQTT_CA_FILE: fields.mqttCaFile,
      WRIT_MQTT_HMAC_KEY_FILE: fields.mqttHmacKeyFile,
    };
    for (const [name, value] of Object.entries(rest)) {
      if (value !== null)
        throw refusedSetting(name, `${name} set without WRIT_MQTT_URL; set both, or neither`);
    }
    return;
  }
  const { host, tls, username } = addressOf(fields.mqttUrl);
  if (fields.mqttPasswordFile !== null && username === null) {
    throw refusedSetting(
      "WRIT_MQTT_URL",
      "WRIT_MQTT_PASSWORD_FILE set, but WRIT_MQTT_URL names no user; use mqtt://USER@HOST",
    );
  }
  if (tls || isLoopback(host) || fields.mqttPlaintext) return;
  throw refusedSetting(
    "WRIT_MQTT_URL",
    `WRIT_MQTT_URL: events would go to ${host} unencrypted; use mqtts://, or set WRIT_MQTT_PLAINTEXT=true`,
  );
}

/** Null if events go to no broker. */
export async function mqttSettingsOf(fields: BrokerFields): Promise<MqttSettings | null> {
  if (fields.mqttUrl === null) return null;
  const { mqttPasswordFile, mqttHmacKeyFile, mqttCaFile } = fields;
  const hmacKey = mqttHmacKeyFile && (await readSecret("WRIT_MQTT_HMAC_KEY_FILE", mqttHmacKeyFile));
  if (hmacKey !== null && hmacKey.length < keyLengthMin) {
    throw refusedSetting(
      "WRIT_MQTT_HMAC_KEY_FILE",
      `WRIT_MQTT_HMAC_KEY_FILE: ${mqttHmacKeyFile} has fewer than ${keyLengthMin} characters`,
    );
  }
  return {
    broker: {
      ...addressOf(fields.mqttUrl),
      password: mqttPasswordFile && (await readSecret("WRIT_MQTT_PASSWORD_FILE", mqttPasswordFile)),
      ca: mqttCaFile && (await readAuthority(mqttCaFile)),
      protocolVersion: fields.mqttVersion === "5" ? 5 : 4,
    },
    ...(mqttPasswordFile === null
      ? {}
      : { readPassword: () => readSecret("WRIT_MQTT_PASSWORD_FILE", mqttPasswordFile) }),
    hmacKey,
  };
}

function addressOf(url: string): BrokerAddress {
  const address = parseBrokerUrl(url);
  if (typeof address !== "string") return address;
  throw refusedSetting(
    "WRIT_MQTT_URL",
    "WRIT_MQTT_URL: must not contain a password; put it into a file and name that with WRIT_MQTT_PASSWORD_FILE",
  );
}

async function readAuthority(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw refusedSetting("WRIT_MQTT_CA_FILE", `WRIT_MQTT_CA_FILE: ${path} cannot be read (${codeOf(error)})`);
  }
}
