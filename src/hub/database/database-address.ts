import { accessSync, constants } from "node:fs";
import { refusedSetting } from "../settings/secret-setting.ts";

/** Values of `sslmode`. The client knows more, and treats a misspelt one as if it were the strictest. */
const sslModes = ["disable", "require", "verify-ca", "verify-full", "no-verify"];
const sslFiles = ["sslrootcert", "sslcert", "sslkey"];
const parameters = ["sslmode", ...sslFiles, "host", "options", "application_name"];

const passwordFile = "WRIT_DATABASE_PASSWORD_FILE";

/**
 * Checks the address of a PostgreSQL database, and returns it as the client understands it. Throws an error that names
 * the wrong part; `given` is the setting or option that it comes from. No text of the address is repeated, because any
 * part may be a piece of the password.
 */
export function checkDatabaseAddress(url: string, given: string): string {
  const refuse = (problem: string): never => {
    throw refusedSetting(given, `${given}: ${problem}`);
  };
  const [, authority = "", rest = ""] = /^postgres(?:ql)?:\/\/([^/?#]*)(.*)$/.exec(url) ?? [];
  if (url.includes("#")) refuse(`a # ends an address; ${howToEncode("# as %23")}`);
  if (rest.includes("@"))
    refuse(`an @ comes after the first / or ?; ${howToEncode("/ as %2F, ? as %3F and @ as %40")}`);
  const user = authority.slice(0, Math.max(0, authority.lastIndexOf("@")));
  if (!isEncoded(user)) refuse(`a % in the user or password encodes nothing; ${howToEncode("% as %25")}`);
  // Without a host, the client uses the parameter `host` or this machine.
  const address = URL.parse(url.replace("@/", "@localhost/"));
  if (address === null)
    return refuse("the host or the port is not valid; use postgres://user:password@host:5432/database");
  checkParameters(address.searchParams, refuse);
  return withKnownMode(url);
}

function howToEncode(characters: string): string {
  return `if it is part of the user or password, percent-encode it (${characters}), or leave the password out and put it into a file that ${passwordFile} names`;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    // A % without two hex digits, or bytes that are not UTF-8.
    return false;
  }
}

function checkParameters(given: URLSearchParams, refuse: (problem: string) => never): void {
  for (const [name, value] of given) {
    if (!parameters.includes(name))
      refuse(
        `the parameter ${JSON.stringify(name.slice(0, 40))} is not known; allowed are ${parameters.join(", ")}`,
      );
    if (name === "sslmode" && !sslModes.includes(value))
      refuse(`sslmode=${JSON.stringify(value.slice(0, 40))} is not known; use ${sslModes.join(", ")}`);
    if (sslFiles.includes(name) && !isReadable(value))
      refuse(`${name}: ${JSON.stringify(value)} cannot be read; use the path of a PEM file`);
  }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    // Missing or not accessible: the refusal is the same.
    return false;
  }
}

/** The client treats these as `verify-full`, with a warning on the terminal that it will not always do so. */
function withKnownMode(url: string): string {
  return url.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/, "$1verify-full");
}
