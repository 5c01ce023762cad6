import { expect, test } from "vitest";
import { checkDatabaseAddress } from "./database-address.ts";

const refusalOf = (url: string): string => {
  try {
    checkDatabaseAddress(url, "WRIT_DATABASE_URL");
    return "accepted";
  } catch (error) {
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    const { message } = error as Error;
    expect(message).not.toMatch(/s3cret|\n/);
    expect(message).toMatch(/^WRIT_DATABASE_URL: /);
    return message;
  }
};

test.each([
  [
    "postgres://u:s3cret#x@h/writ",
    "a # ends an address; if it is part of the user or password, percent-encode it (# as %23)",
  ],
  [
    "postgres://u:12#s3cret@h/writ",
    "(# as %23), or leave the password out and put it into a file that WRIT_DATABASE_PASSWORD_FILE",
  ],
  ["postgres://u:s3cret/x@h/writ", "an @ comes after the first / or ?"],
  ["postgres://u:12/s3cret@h/writ", "/ as %2F, ? as %3F and @ as %40"],
  ["postgres://u:s3cret?x@h/writ", "an @ comes after the first / or ?"],
  ["postgres://u:s3cret%x@h/writ", "a % in the user or password encodes nothing"],
  ["postgres://u:s3cret%ff@h/writ", "(% as %25)"],
  [
    "postgres://u:s3cret@h:port/writ",
    "the host or the port is not valid; use postgres://user:password@host:5432/database",
  ],
  ["postgres://u:s3cret/writ", "the host or the port is not valid"],
])("%s is refused with the wrong part and without the password", (url, words) => {
  expect(refusalOf(url)).toContain(words);
});

test.each([
  [
    "sslmod=require",
    'the parameter "sslmod" is not known; allowed are sslmode, sslrootcert, sslcert, sslkey, host, options',
  ],
  ["password=s3cret", 'the parameter "password" is not known'],
  [
    "sslmode=requier",
    'sslmode="requier" is not known; use disable, require, verify-ca, verify-full, no-verify',
  ],
  ["sslmode=prefer", 'sslmode="prefer" is not known'],
  ["sslmode=require&sslrootcert=/nowhere/ca.crt", 'sslrootcert: "/nowhere/ca.crt" cannot be read'],
])("the parameter %s is refused, with what is allowed", (query, words) => {
  expect(refusalOf(`postgres://u@h/writ?${query}`)).toContain(words);
});

test("addresses that the client understands are accepted, and modes that check the certificate become the strict one", () => {
  for (const url of [
    "postgres://u:a%23b%2Fc%25d%40e@h:5432/writ",
    "postgresql://u:p@ss:word@[::1]/writ?sslmode=no-verify",
    "postgres://u@/writ?host=/run/postgresql&application_name=hub",
    "postgres://u@%2Frun%2Fpostgresql/writ",
  ])
    expect(checkDatabaseAddress(url, "X")).toBe(url);
  expect(checkDatabaseAddress("postgres://u@h/d?sslmode=require&options=-c%20a%3D1", "X")).toBe(
    "postgres://u@h/d?sslmode=verify-full&options=-c%20a%3D1",
  );
});
