import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { readPrivateFile, readSmallFile } from "../../runtime/files/private-file.ts";
import { type GrpcAddress, parseGrpcAddresses } from "../../runtime/hubs/grpc-address.ts";
import { listHubAddresses } from "../../runtime/hubs/hub-address.ts";
import { authorityPlaces, findAuthority } from "../hub/find-authority.ts";
import { isSameHub } from "../hub/same-hub.ts";

export type RpcOptions = {
  /**
   * host:port of a hub's gRPC port, or several with commas. By default those beside `url`, else that of the hub that runs
   * in `home`.
   */
  address?: string | undefined;
  /** The HTTP addresses. The gRPC port of the hub that runs in `home` is known; any other is expected to be 50051. */
  url?: string | undefined;
  home?: string | undefined;
  /** Whose certificate in the home is used. */
  user: string;
  caFile?: string | undefined;
  certFile?: string | undefined;
  keyFile?: string | undefined;
  /** The trace that this client's jobs belong to (W3C `traceparent`). */
  traceparent?: string | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
};

/** Where a hub is, which authority to trust, and which certificate to present. */
export type RpcTarget = Address & { ca: string; cert: string; key: string };

/** From the options, and otherwise from the home: the hub's own, or a folder written by `writ certs issue`. */
export async function findRpc(options: RpcOptions): Promise<RpcTarget[]> {
  const addresses = await findAddresses(options);
  const ca = await readAuthority(options);
  const certificate = await readCertificate(options);
  return addresses.map((address) => ({ ...address, ca, ...certificate }));
}

type Address = GrpcAddress & {
  /** The HTTP address that was given instead: errors name it too. */
  url?: string;
  /** Whether the address was given as it is, is expected beside `url`, or is that of the hub in the home. */
  from: "option" | "url" | "home";
};

const portDefault = 50_051;

async function findAddresses({ address, url, home }: RpcOptions): Promise<Address[]> {
  if (address !== undefined) return parseGrpcAddresses(address).map((one) => ({ ...one, from: "option" }));
  if (url === undefined) return [await readHubFile(home)];
  const known = home === undefined ? null : await readSmallFile(hubFile(home), { mustBePrivate: false });
  const own = known === null ? undefined : addressIn(known);
  // Only the host is used, and gRPC is always encrypted.
  return listHubAddresses(url, { allowInsecure: true }).map((one) => {
    const host = new URL(one).hostname;
    const isOwn = own?.urls.some((each) => isSameHub(one, each));
    return isOwn
      ? { host, port: own!.port, url: one, from: "home" }
      : { host, port: portDefault, url: one, from: "url" };
  });
}

function hubFile(home: string): string {
  return join(home, "hub.json");
}

async function readHubFile(home: string | undefined): Promise<Address> {
  if (home === undefined) {
    throw new WritError("CONFIG_INVALID", "no gRPC address and no home was given");
  }
  const path = hubFile(home);
  const text = await readSmallFile(path, { mustBePrivate: false });
  if (text === null) throw new WritError("HUB_UNREACHABLE", `no hub is running in ${home}`, { home });
  const address = addressIn(text);
  if (address !== undefined) return { host: address.host, port: address.port, from: "home" };
  throw new WritError(
    "CONFIG_INVALID",
    `${path} does not contain a gRPC port; stop the hub and start it again`,
  );
}

/** Checked by hand, because a schema library would double the time that a short command takes. */
function addressIn(text: string): (GrpcAddress & { urls: string[] }) | undefined {
  try {
    const { url, local_url, grpc_port: port } = JSON.parse(text) as Record<string, unknown>;
    const urls = [local_url, url].filter((each) => typeof each === "string");
    const host = URL.parse(urls[0] ?? "")?.hostname;
    if (!host || typeof port !== "number" || !Number.isInteger(port) || port < 1) return undefined;
    return { host, port, urls };
  } catch {
    // The caller names the file that is not JSON.
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
