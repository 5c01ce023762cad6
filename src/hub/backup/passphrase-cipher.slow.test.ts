import { expect, test } from "vitest";
import { openWith, sealWith } from "./passphrase-cipher.ts";

const facts = { created_at: 0, version: "0.0.0" };
const mebibyte = 1024 ** 2;

async function* pieces(bytes: Uint8Array, size = 300_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(source));
}

const seal = (plain: Uint8Array, passphrase = "a passphrase"): Promise<Buffer> =>
  all(sealWith(passphrase, facts)(pieces(plain)));
const open = (sealed: Uint8Array, passphrase = "a passphrase"): Promise<Buffer> =>
  all(openWith(passphrase, pieces(sealed, 70_000)));

test("a file that is no backup is refused before the passphrase is tried", async () => {
  await expect(open(Buffer.from(""))).rejects.toThrow("it is not a backup of Writ");
  await expect(open(Buffer.from("{}\n"))).rejects.toThrow("it is not a backup of Writ");
  await expect(open(Buffer.alloc(10_000, "x"))).rejects.toThrow("it is not a backup of Writ");
  await expect(open(Buffer.from('{"writ_backup":2}\n'))).rejects.toThrow("a newer version of Writ made it");
  const greedy = JSON.stringify({ writ_backup: 1, ...facts, salt: "", cost: 40, check: "" });
  await expect(open(Buffer.from(`${greedy}\n`))).rejects.toThrow("it is damaged");
});

test("a wrong passphrase is refused, and the right one is accepted in other code points", async () => {
  const sealed = await seal(Buffer.from("secret"), "caf\u00e9 au lait");
  await expect(open(sealed, "cafe au lait")).rejects.toThrow("the passphrase is wrong");
  expect(String(await open(sealed, "cafe\u0301 au lait"))).toBe("secret");
});

test.each([0, mebibyte, 2 * mebibyte + 1])("%i bytes are decrypted unchanged", async (size) => {
  const plain = Buffer.alloc(size, "0123456789abcde");
  const sealed = await seal(plain);
  expect(sealed.includes("0123456789abcde")).toBe(false);
  expect((await open(sealed)).equals(plain)).toBe(true);
});

test("a file that was changed, cut, lengthened or rearranged is refused", async () => {
  const sealed = await seal(Buffer.alloc(2 * mebibyte + 1, "x"));
  const start = sealed.indexOf("\n") + 1;
  const frame = 5 + mebibyte + 16;
  const changed = (at: number): Buffer => {
    const copy = Buffer.from(sealed);
    copy[at]! ^= 1;
    return copy;
  };
  const [first, second, last] = [0, 1, 2].map((index) =>
    sealed.subarray(start + index * frame, index === 2 ? undefined : start + (index + 1) * frame),
  ) as [Buffer, Buffer, Buffer];
  const put = (...frames: Buffer[]): Buffer => Buffer.concat([sealed.subarray(0, start), ...frames]);
  const lastTooSoon = Buffer.from(second);
  lastTooSoon[0] = 1;
  const older = Buffer.from(String(sealed.subarray(0, start)).replace('"0.0.0"', '"0.0.1"'));

  await expect(open(changed(start + 100))).rejects.toThrow("damaged");
  await expect(open(changed(sealed.length - 1))).rejects.toThrow("damaged");
  await expect(open(put(second, first, last))).rejects.toThrow("damaged");
  await expect(open(put(first, last))).rejects.toThrow("damaged");
  await expect(open(put(first, lastTooSoon))).rejects.toThrow("damaged");
  await expect(open(put(first, second, last, Buffer.from("x")))).rejects.toThrow("damaged");
  await expect(open(put(first, second))).rejects.toThrow("cut off");
  await expect(open(sealed.subarray(0, -1))).rejects.toThrow("cut off");
  await expect(open(Buffer.concat([older, first, second, last]))).rejects.toThrow("damaged");
});
