import { join } from "node:path";
import { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { readPrivateFile, readSmallFile } from "../../runtime/files/private-file.ts";
import { listHubAddresses } from "../../runtime/hubs/hub-address.ts";
import type { WritOptions } from "../options.ts";
import { findAuthority } from "./find-authority.ts";
import { isSameHub } from "./same-hub.ts";

export type HubTarget = {
  urls: string[];
  /** Where other machines reach the hub, as far as is known here. */
  publicUrls: string[];
  token: string | undefined;
  ca: string | undefined;
  allowInsecure: boolean;
};

/** Where the hub is, and the credentials for it: from the options, and otherwise from the home of a running hub. */
export async function findHub(options: WritOptions): Promise<HubTarget> {
  const { allowInsecure = false } = options;
  const given = options.url === undefined ? undefined : listHubAddresses(options.url, { allowInsecure });
  const own = options.home === undefined ? undefined : await readHubFile(options.home);
  const urls = given ?? (own === undefined ? undefined : [own.local_url ?? own.url]);
  if (urls === undefined) throw noHub(options.home);
  return {
    urls,
    publicUrls: given ?? (own === undefined ? [] : [own.url]),
    // A credential that was given is never replaced by what the home holds.
    token: options.token ?? (options.certificate ? undefined : await readHomeToken(options, given, own)),
    ca: options.ca ?? (await readAuthority(options, urls)),
    allowInsecure,
  };
}

const hubFile = z.looseObject({ url: z.string(), local_url: z.string().optional() });
type HubFile = z.infer<typeof hubFile>;

async function readHubFile(home: string): Promise<HubFile | undefined> {
  const path = join(home, "hub.json");
  const text = await readSmallFile(path, { mustBePrivate: false });
  if (text === null) return undefined;
  try {
    return hubFile.parse(JSON.parse(text));
  } catch {
    throw new WritError(
      "CONFIG_INVALID",
      `${path} does not contain the address of a hub; stop the hub, remove the file, and start it again`,
    );
  }
}

/** The home's token belongs to the home's hub: it is never sent to another one. */
async function readHomeToken(
  { home }: WritOptions,
  given: readonly string[] | undefined,
  own: HubFile | undefined,
): Promise<string | undefined> {
  const isOwn = (url: string): boolean => isSameHub(url, own?.url) || isSameHub(url, own?.local_url);
  if (home === undefined || given?.every(isOwn) === false) return undefined;
  return (await readPrivateFile(join(home, "admin.token")))?.trim();
}

async function readAuthority(options: WritOptions, urls: string[]): Promise<string | undefined> {
  if (!urls.some((url) => url.startsWith("https:"))) return undefined;
  const pem = await findAuthority(options);
  if (pem !== undefined || options.caFile === undefined) return pem;
  throw new WritError("CONFIG_INVALID", `the CA file ${options.caFile} does not exist`);
}

function noHub(home: string | undefined): WritError {
  if (home === undefined) return new WritError("CONFIG_INVALID", "no hub address and no home was given");
  return new WritError("HUB_UNREACHABLE", `no hub is running in ${home}`, { home });
}
