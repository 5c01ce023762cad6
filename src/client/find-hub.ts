import { join } from "node:path";
import { z } from "zod";
import { WritError } from "../core/errors.ts";
import { readPrivateFile, readSmallFile } from "../runtime/private-file.ts";
import { findAuthority } from "./find-authority.ts";
import type { WritOptions } from "./options.ts";
import { isSameHub } from "./same-hub.ts";

export type HubTarget = {
  urls: string[];
  token: string | undefined;
  ca: string | undefined;
  allowInsecure: boolean;
};

/** Where the hub is, and the credentials for it: from the options, and otherwise from the home of a running hub. */
export async function findHub(options: WritOptions): Promise<HubTarget> {
  const given = options.url === undefined ? undefined : listUrls(options.url);
  const homeUrl = options.home === undefined ? undefined : await readHubUrl(options.home);
  const urls = given ?? (homeUrl === undefined ? undefined : [homeUrl]);
  if (urls === undefined) throw noHub(options.home);
  return {
    urls,
    // A credential that was given is never replaced by what the home holds.
    token: options.token ?? (options.certificate ? undefined : await readHomeToken(options, homeUrl)),
    ca: options.ca ?? (await readAuthority(options, urls)),
    allowInsecure: options.allowInsecure ?? false,
  };
}

function listUrls(url: string | readonly string[]): string[] {
  const list = typeof url === "string" ? url.split(",").map((part) => part.trim()) : [...url];
  return list.filter((part) => part !== "");
}

const hubFile = z.looseObject({ url: z.string() });

async function readHubUrl(home: string): Promise<string | undefined> {
  const path = join(home, "hub.json");
  const text = await readSmallFile(path, { mustBePrivate: false });
  if (text === null) return undefined;
  try {
    return hubFile.parse(JSON.parse(text)).url;
  } catch {
    throw new WritError(
      "CONFIG_INVALID",
      `${path} does not contain the address of a hub; stop the hub, remove the file, and start it again`,
    );
  }
}

/** The home's token belongs to the home's hub: it is never sent to another one. */
async function readHomeToken(options: WritOptions, homeUrl: string | undefined): Promise<string | undefined> {
  if (options.home === undefined) return undefined;
  if (options.url !== undefined && !listUrls(options.url).every((url) => isSameHub(url, homeUrl))) {
    return undefined;
  }
  return (await readPrivateFile(join(options.home, "admin.token")))?.trim();
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
