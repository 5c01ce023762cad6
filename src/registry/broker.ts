import { invalidArgument } from "../core/errors.ts";
import type { Broker } from "./job-record.ts";

const mqttPort = 1883;
const mqttsPort = 8883;

/** Reads the address of a broker. A password in it is refused: it would be stored, and stand in the process list. */
export function parseBroker(address: string, passwordEnv: string | undefined): Broker {
  const url = URL.parse(address);
  const isTls = url?.protocol === "mqtts:";
  if (url === null || (url.protocol !== "mqtt:" && !isTls) || url.hostname === "" || hasMore(url))
    throw refused("is not the address of a broker; use mqtt://HOST:PORT, or mqtts://HOST:PORT for TLS");
  if (url.password !== "")
    throw refused("must not contain a password; name the variable that holds it with --password-env");
  if (passwordEnv !== undefined && !/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(passwordEnv))
    throw invalidArgument({ path: "password-env", message: "is not the name of a variable" });
  return {
    // The brackets around an IPv6 address belong to the URL.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isTls ? mqttsPort : mqttPort) : Number(url.port),
    tls: isTls,
    username: url.username === "" ? null : decodeURIComponent(url.username),
    password_env: passwordEnv ?? null,
  };
}

function hasMore({ pathname, search, hash }: URL): boolean {
  return !["", "/"].includes(pathname) || search !== "" || hash !== "";
}

function refused(message: string): Error {
  return invalidArgument({ path: "broker", message });
}
