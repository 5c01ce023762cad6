import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { readPrivateFile, readSmallFile } from "../runtime/private-file.ts";
import { authorityPlaces, findAuthority } from "./find-authority.ts";
import { isSameHub } from "./same-hub.ts";

export type RpcOptions = {
  /** host:port of a hub's gRPC port. By default the one beside `url`, else that of the hub that runs in `home`. */
  address?: string | undefined;
  /** The hub's HTTP address. Its gRPC port is known if that hub runs in `home`, else it is expected to be 50051. */
  url?: string | undefined;
  home?: string | undefined;
  /** Whose certificate in the home is used. */
  user: string;
  caFile?: string | undefined;
  certFile?: string | undefined;
  keyFile?: string | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
};

/** Where the hub is, which authority to trust, and which certificate to present. */
export type RpcTarget = { host: string; port: number; ca: string; cert: string; key: string };

/** From the options, and otherwise from the home: the hub's own, or a folder written by `writ certs issue`. */
export async function findRpc(options: RpcOptions): Promise<RpcTarget> {
  const address = await findAddress(options);
  const ca = await readAuthority(options);
  return { ...address, ca, ...(await readCertificate(options)) };
}

type Address = { host: string; port: number };

const portDefault = 50_051;

async function findAddress({ address, url, home }: RpcOptions): Promise<Address> {
  if (address !== undefined) return parseAddress(address);
  const host = url === undefined ? undefined : URL.parse(url)?.hostname;
  if (url === undefined || host === undefined) return readHubFile(home);
  const known = home === undefined ? null : await readSmallFile(hubFile(home), { mustBePrivate: false });
  const own = known === null ? undefined : addressIn(known);
  return { host, port: own !== undefined && isSameHub(url, own.url) ? own.port : portDefault };
}

function hubFile(home: string): string {
  return join(home, "hub.json");
}

/** An address such as hub.example:50051 or [::1]:50051. */
function parseAddress(text: string): Address {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) > 0 && Number(port) < 65_536) return { host, port: Number(port) };
  throw new WritError(
    "CONFIG_INVALID",
    `gRPC address ${JSON.stringify(text)} is not allowed; use host:port, such as hub.example:50051`,
  );
}

async function readHubFile(home: string | undefined): Promise<Address> {
  if (home === undefined) {
    throw new WritError("CONFIG_INVALID", "no gRPC address and no home was given");
  }
  const path = hubFile(home);
  const text = await readSmallFile(path, { mustBePrivate: false });
  if (text === null) throw new WritError("HUB_UNREACHABLE", `no hub is running in ${home}`, { home });
  const address = addressIn(text);
  if (address !== undefined) return { host: address.host, port: address.port };
  throw new WritError(
    "CONFIG_INVALID",
    `${path} does not contain a gRPC port; stop the hub and start it again`,
  );
}

/** Checked by hand, because a schema library would double the time that a short command takes. */
function addressIn(text: string): (Address & { url: string }) | undefined {
  try {
    const { url, grpc_port: port } = JSON.parse(text) as { url?: unknown; grpc_port?: unknown };
    const host = URL.parse(String(url))?.hostname;
    if (!host || typeof port !== "number" || !Number.isInteger(port) || port < 1) return undefined;
    return { host, port, url: String(url) };
  } catch {
    return undefined;
  }
}

async function readAuthority(options: RpcOptions): Promise<string> {
  const pem = await findAuthority(options);
  if (pem !== undefined) return pem;
  const what = "authority that signed the hub's certificate";
  throw missing(what, authorityPlaces(options), "give it with --ca");
}

async function readCertificate(options: RpcOptions): Promise<{ cert: string; key: string }> {
  const { certFile, keyFile, home, user } = options;
  refuseWrongUser(user);
  // A given name is a folder of that name; otherwise the home itself may contain a single certificate.
  const certPlaces = certFile === undefined ? certificatePlaces(home, user) : [certFile];
  const keyPlaces = placesOf(keyFile, home, [["certs", user, "client.key"], ["client.key"]]);
  for (const [index, path] of certPlaces.entries()) {
    const cert = await readSmallFile(path, { mustBePrivate: false });
    if (cert === null) continue;
    const keyPath = keyFile ?? (certFile === undefined ? keyPlaces[index] : besides(certFile));
    const key = keyPath === undefined ? null : await readPrivateFile(keyPath);
    if (key !== null) return { cert, key };
    throw missing("key of the certificate", keyPath === undefined ? [] : [keyPath], "give it with --key");
  }
  const advice =
    "an administrator can issue one with `writ certs issue`; then use --home, or --cert and --key";
  throw missing(`certificate of user ${user}`, certPlaces, advice);
}

/** Where a home keeps a user's certificate: a hub's own home, or a folder written by `writ certs issue`. */
export function certificatePlaces(home: string | undefined, user: string): string[] {
  return placesOf(undefined, home, [["certs", user, "client.crt"], ["client.crt"]]);
}

/** The user's name becomes part of a path. */
function refuseWrongUser(user: string): void {
  if (/^[^/\0]+$/.test(user) && user !== "." && user !== "..") return;
  throw new WritError("CONFIG_INVALID", `${JSON.stringify(user)} is not a user name`);
}

function besides(certFile: string): string {
  return certFile.replace(/\.(?:crt|pem)$/, "").concat(".key");
}

function placesOf(given: string | undefined, home: string | undefined, inHome: string[][]): string[] {
  if (given !== undefined) return [given];
  return home === undefined ? [] : inHome.map((parts) => join(home, ...parts));
}

function missing(what: string, places: readonly string[], advice: string): WritError {
  const where = places.length === 0 ? "" : ` (looked for ${places.join(" and ")})`;
  return new WritError("CONFIG_INVALID", `the ${what} was not found${where}; ${advice}`);
}
