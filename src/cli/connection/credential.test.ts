import { expect, test } from "vitest";
import { type CredentialSource, chooseCredential, type GivenCredential } from "./credential.ts";

function source(prefix: string, given: GivenCredential): CredentialSource {
  return { given, nameOf: (name) => `${prefix}${name}` };
}

function choose(flags: GivenCredential, env: GivenCredential = {}, file: GivenCredential = {}) {
  return chooseCredential([source("--", flags), source("WRIT_", env), source("file ", file)], "me");
}

test("C1: a token and a certificate from one place are refused, and both are named", () => {
  expect(() => choose({ token: "t", cert: "c" })).toThrow(
    "--token and --cert: give a token or a certificate",
  );
  expect(() => choose({}, { token: "t", user: "u" })).toThrow("WRIT_token and WRIT_user");
});

test("C1: the strongest source that names a credential decides alone", () => {
  expect(choose({ cert: "c" }, { token: "t" })).toMatchObject({ kind: "certificate", from: "--cert" });
  expect(choose({ token: "t" }, { cert: "c", user: "u" })).toEqual({
    kind: "token",
    token: "t",
    from: "--token",
  });
  expect(choose({}, {}, { token: "t" })).toMatchObject({ kind: "token", from: "file token" });
});

test("C1: a key belongs to the certificate beside it, and a stronger source may name another", () => {
  expect(choose({}, { cert: "c", key: "k" }, { key: "old" })).toMatchObject({ certFile: "c", keyFile: "k" });
  expect(choose({ key: "mine" }, { cert: "c", key: "k" })).toMatchObject({ certFile: "c", keyFile: "mine" });
  expect(choose({ cert: "c" }, { key: "k" })).toMatchObject({ certFile: "c", keyFile: undefined });
});

test("C1: what the home holds counts only when nothing was given", () => {
  expect(choose({})).toEqual({ kind: "home", user: "me" });
  expect(choose({ key: "k" })).toEqual({ kind: "home", user: "me" });
  expect(choose({ user: "ann" })).toMatchObject({ kind: "certificate", user: "ann", certFile: undefined });
});
