import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { sharedLibraries } from "./shared-libraries.mjs";

const initFile = fileURLToPath(new URL("init.sh", import.meta.url));

/**
 * The first file system of the machine: busybox, the modules and init. It is small and is left uncompressed,
 * because unpacking costs more under emulation than reading does.
 */
export function makeInitramfs(kernel, busybox) {
  const libraries = sharedLibraries(busybox);
  return packCpio([
    ...foldersOf(["bin/busybox", "modules/x", "proc/x", "sys/x", "dev/x", ...libraries.map(inside)]),
    { name: "init", mode: 0o100755, data: readFileSync(initFile) },
    { name: "bin/busybox", mode: 0o100755, data: readFileSync(busybox) },
    ...libraries.map((path) => ({ name: inside(path), mode: 0o100755, data: readFileSync(path) })),
    ...kernel.modules.map(({ name, data }) => ({ name: `modules/${name}`, mode: 0o100644, data })),
    {
      name: "modules/order",
      mode: 0o100644,
      data: Buffer.from(`${kernel.modules.map((m) => m.name).join(" ")}\n`),
    },
  ]);
}

function inside(path) {
  return path.replace(/^\//, "");
}

function foldersOf(files) {
  const folders = files.flatMap((file) => {
    const parts = file.split("/").slice(0, -1);
    return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
  });
  return [...new Set(folders)].map((name) => ({ name, mode: 0o040755, data: Buffer.alloc(0) }));
}

/** The "newc" format of cpio, which is all that the kernel reads. Everything belongs to root. */
function packCpio(files) {
  const trailer = { name: "TRAILER!!!", mode: 0, data: Buffer.alloc(0) };
  const parts = [...files, trailer].flatMap(({ name, mode, data }, index) => {
    // inode, mode, uid, gid, links, mtime, size, device (2), device of a node (2), length of the name, checksum
    const fields = [index + 1, mode, 0, 0, 1, 0, data.length, 0, 0, 0, 0, Buffer.byteLength(name) + 1, 0];
    const head = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}${name}\0`;
    return [padded(Buffer.from(head)), padded(data)];
  });
  return Buffer.concat(parts);
}

function padded(data) {
  return Buffer.concat([data, Buffer.alloc((4 - (data.length % 4)) % 4)]);
}
