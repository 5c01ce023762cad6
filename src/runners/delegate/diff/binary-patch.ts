import { deflateSync } from "node:zlib";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const lineBytes = 52;

/** How git writes a file that is not text: the new bytes, and the old ones so that it can be taken back. */
export function binaryPatch(before: Buffer, after: Buffer): string {
  return `GIT binary patch\n${literal(after)}${literal(before)}`;
}

function literal(bytes: Buffer): string {
  const packed = deflateSync(bytes);
  const lines: string[] = [];
  for (let start = 0; start < packed.length; start += lineBytes) {
    const piece = packed.subarray(start, start + lineBytes);
    lines.push(`${lengthSign(piece.length)}${base85(piece)}\n`);
  }
  return `literal ${bytes.length}\n${lines.join("")}\n`;
}

/** A to Z for 1 to 26 bytes, a to z for 27 to 52. */
function lengthSign(length: number): string {
  return String.fromCharCode(length <= 26 ? 64 + length : 70 + length);
}

function base85(piece: Buffer): string {
  const padded = Buffer.alloc(Math.ceil(piece.length / 4) * 4);
  piece.copy(padded);
  let text = "";
  for (let start = 0; start < padded.length; start += 4) {
    let value = padded.readUInt32BE(start);
    let word = "";
    for (let digit = 0; digit < 5; digit++) {
      word = alphabet[value % 85]! + word;
      value = Math.floor(value / 85);
    }
    text += word;
  }
  return text;
}
