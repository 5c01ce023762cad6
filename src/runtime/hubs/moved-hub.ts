import { WritError } from "../../core/errors.ts";
import { hubAddressesMax, isLoopback, parseHubAddress } from "./hub-address.ts";

/** The header, and the metadata of gRPC, in which a hub that has moved names its new addresses. */
export const movedToHeader = "writ-moved-to";

/** Longer than 16 addresses with names as long as DNS allows. */
const namedCharsMax = 8_192;

/**
 * The addresses that a hub which has moved gives, as far as a caller may follow. The caller's token goes there, so an
 * address must prove itself with a certificate of the authority that is trusted already. Only from one port of this
 * machine to another does nothing prove itself: a hub elsewhere could send the token to any program that runs here.
 * Why: ADR 0090.
 */
export function readMovedTo(named: string, from: URL): string[] {
  const texts = named.length > namedCharsMax ? [] : named.split(",").map((text) => text.trim());
  if (texts.length === 0 || texts.length > hubAddressesMax)
    throw new WritError("CONFIG_INVALID", `it must name 1 to ${hubAddressesMax} addresses`);
  return texts.map((text) => checkMovedTo(text, from));
}

function checkMovedTo(text: string, from: URL): string {
  const url = parseHubAddress(text, { allowInsecure: false });
  const mayBePlain = isLoopback(from.hostname);
  if (url.protocol === "https:" || mayBePlain) return url.origin + url.pathname.replace(/\/$/, "");
  throw new WritError(
    "CONFIG_INVALID",
    `${url.origin} is an address of every machine itself, and is followed only from there; use https://host:port`,
  );
}
