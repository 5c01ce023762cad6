import { describe, expect, test } from "vitest";
import { hubAddressesMax, listHubAddresses } from "./hub-address.ts";

const list = (given: string | string[]) => listHubAddresses(given, { allowInsecure: false });

describe("refusals", () => {
  test.each([
    ["an empty entry", "https://a:1,,https://b:2", "entry 2 of the hub addresses is empty"],
    ["a comma at the end", "https://a:1,", "entry 2 of the hub addresses is empty"],
    [
      "the same one twice",
      "https://a:1, https://b:2,https://a:1/",
      "hub address https://a:1 was given twice",
    ],
    ["one that is none", "https://a:1,b:2", '"b:2" is not a hub address'],
    [
      "one that would send the token unencrypted",
      "https://a:1,http://b:2",
      "hub address http://b:2 would send",
    ],
    ["none at all", [], "at least one hub address is needed"],
    [
      "too many",
      Array.from({ length: hubAddressesMax + 1 }, (_, index) => `https://a:${index + 1}`),
      `17 hub addresses were given; at most ${hubAddressesMax} are allowed`,
    ],
  ])("%s", (_, given, message) => {
    expect(() => list(given)).toThrow(message);
    expect(() => list(given)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  test("no password is repeated", () => {
    const given = "https://a:1,https://u:secretcanary@b:2";
    expect(() => list(given)).toThrow("hub address https://b:2 must not contain a user");
  });
});

test("text with commas and a list mean the same, and an address may have a path", () => {
  const addresses = ["https://a:1", "https://a:1/writ", "http://localhost:3000"];
  expect(list(addresses)).toEqual(addresses);
  expect(list(addresses.join(" , "))).toEqual(addresses);
});
