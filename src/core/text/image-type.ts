/** Images that a browser draws and that hold no script. SVG is not among them: it is a document. */
const types: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
};

/** A page shows several previews at once, so none of them may be large. */
export const previewBytesMax = 8 * 1024 * 1024;

/**
 * The type under which a file is shown as a picture, by the end of its name, or null if it is not shown. A file that is
 * something else is still served under this type, which makes it a broken picture and nothing worse.
 */
export function imageTypeOf({ name, size }: { name: string; size: number | null }): string | null {
  if (size === null || size > previewBytesMax) return null;
  const end = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(types, end) ? types[end]! : null;
}
