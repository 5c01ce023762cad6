import { describe, expect, it } from "vitest";
import {
  hostName,
  jobTargetProblem,
  matchesTarget,
  parseEgressTarget,
  workerTargetProblem,
} from "./egress.ts";

function matches(entry: string, host: string, port = 443): boolean {
  return matchesTarget(parseEgressTarget(entry)!, { host, port });
}

describe("an entry of a list of allowed hosts", () => {
  it.each([
    "",
    "api.test",
    "api.test:",
    "api.test:0",
    "api.test:65536",
    "api.test:443/x",
    "https://api.test:443",
    "a*.test:443",
    "*.*.test:443",
    "*.:443",
    "-a.test:443",
    "a..test:443",
    "a_b.test :443",
    "[::1]/129:443",
    "10.0.0.0/33:443",
    "10.0.0.0/x:443",
    "1.2.3:443",
    "0x7f.1:443",
    "::1:443",
    `${"a".repeat(64)}.test:443`,
  ])("is not %j", (text) => {
    expect(parseEgressTarget(text)).toBeNull();
    expect(workerTargetProblem(text)).toContain("must be a host and a port");
  });

  it("names hosts in a job, and addresses in the file of a worker only", () => {
    for (const text of ["10.0.0.5:443", "[fd00::5]:443", "10.0.0.0/8:443", "8.8.8.8:53", "*:443"]) {
      expect(jobTargetProblem(text)).toContain("only the file of a worker");
      expect(workerTargetProblem(text)).toBeNull();
    }
    expect(jobTargetProblem("*.api.test:443")).toBeNull();
  });

  it("matches its name at its port, whatever the case, and a wildcard what is below it", () => {
    expect(matches("API.test.:443", "api.test")).toBe(true);
    expect(matches("api.test:443", "api.test", 80)).toBe(false);
    expect(matches("api.test:443", "a.api.test")).toBe(false);
    expect(matches("*.api.test:443", "a.api.test")).toBe(true);
    expect(matches("*.api.test:443", "a.b.api.test")).toBe(true);
    expect(matches("*.api.test:443", "api.test")).toBe(false);
    expect(matches("*.api.test:443", "evilapi.test")).toBe(false);
    expect(matches("*:443", "anything.test")).toBe(true);
    expect(matches("*:443", "10.0.0.1")).toBe(false);
  });

  it("matches addresses with the same first bits, and no name", () => {
    expect(matches("10.1.0.0/16:443", "10.1.255.3")).toBe(true);
    expect(matches("10.1.0.0/16:443", "10.2.0.1")).toBe(false);
    expect(matches("[fd00::]/8:443", "fd12:3456::1")).toBe(true);
    expect(matches("[fd00::5]:443", "fd00:0:0:0:0:0:0:5")).toBe(true);
    expect(matches("10.0.0.5:443", "::ffff:10.0.0.5")).toBe(false);
    expect(matches("0.0.0.0/0:443", "::1")).toBe(false);
    expect(matches("10.0.0.5:443", "host.test")).toBe(false);
  });

  it("takes no number for a name, in whichever way it is written", () => {
    for (const text of [
      "127.0.0.1",
      "2130706433",
      "0x7f000001",
      "127.1",
      "a.0x1",
      "1.2.3.4.5",
      "a.0x",
      "",
      ".",
    ])
      expect(hostName(text)).toBeNull();
    expect(hostName("3com.Test.")).toBe("3com.test");
  });
});
