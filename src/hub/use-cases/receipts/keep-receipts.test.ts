import { expect, test } from "vitest";
import { generateMacKey, sealReceipt, sha256Hex } from "../../../signing/mac.ts";
import type { ReceiptSignature } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { findReceipt, receiptKeeper, signedList, signedReceipt } from "./keep-receipts.ts";

const worker = { id: "w1", publicKey: "a key" };
const macKey = generateMacKey();

/** A hub that has stored these signatures. */
function depsWith(...rows: Omit<ReceiptSignature, "createdAt">[]): Pick<HubDeps, "keys" | "store"> {
  const getReceiptSignature = async ({ id }: { id: string }) => rows.find((row) => row.id === id) ?? null;
  return { keys: { macKey }, store: { getReceiptSignature } } as unknown as Pick<HubDeps, "keys" | "store">;
}

const sent = (text: string) => ({ text, sha256: sha256Hex(text) });

test("a receipt whose signature was deleted is not found", async () => {
  const signed = signedList(worker, [sent("{}")], { signature: "s" })!;
  expect(await findReceipt(depsWith(), receiptKeeper(depsWith(), signed)(sha256Hex("{}")))).toBeNull();
});

test("a seal is not valid for another receipt of the same list or of another list", async () => {
  const list = signedList(worker, [sent('{"a":1}'), sent('{"a":2}')], { signature: "s" })!;
  const other = signedList(worker, [sent('{"a":1}')], { signature: "s" })!;
  const deps = depsWith(list.kept, other.kept);
  const kept = receiptKeeper(deps, list)(sha256Hex('{"a":1}'));
  expect(await findReceipt(deps, kept)).toMatchObject({ text: '{"a":1}', isSealed: true });
  expect(await findReceipt(deps, kept.replace(/^0/, "1"))).toMatchObject({ isSealed: false });
  expect(await findReceipt(deps, kept.replace(list.kept.id, other.kept.id))).toMatchObject({
    isSealed: false,
  });
});

test("every signed text is read back unchanged, and a receipt that the hub could not write does not shift the others", async () => {
  const texts = ['{"a":1}', "two\nlines", '"quoted"', "", '{"a":\n2}'];
  const list = signedList(worker, [{ text: null, sha256: "f".repeat(64) }, ...texts.map(sent)], {
    signature: "s",
  })!;
  const deps = depsWith(list.kept);
  for (const text of texts) {
    const found = await findReceipt(deps, receiptKeeper(deps, list)(sha256Hex(text)));
    expect(found).toEqual({ text, publicKey: "a key", signed: list.text, signature: "s", isSealed: true });
  }
  const single = signedReceipt(worker, { text: "two\nlines", signature: "s" })!;
  const found = await findReceipt(
    depsWith(single.kept),
    receiptKeeper(deps, single)(sha256Hex("two\nlines")),
  );
  expect(found).toMatchObject({ text: "two\nlines", signed: "two\nlines", isSealed: true });
});

test("a receipt that an earlier version stored is found, and its seal is checked", async () => {
  const row = { id: sha256Hex("signed"), text: "signed", signature: "s", workerId: "w1", publicKey: "a key" };
  const deps = depsWith(row);
  const mac = sealReceipt(macKey, { text: "{}", signedId: row.id, publicKey: "a key" });
  const kept = { text: "{}", signed: row.id, public_key: "a key", mac };
  expect(await findReceipt(deps, JSON.stringify(kept))).toMatchObject({ signed: "signed", isSealed: true });
  expect(await findReceipt(deps, JSON.stringify({ ...kept, text: "{ }" }))).toMatchObject({
    isSealed: false,
  });
});
