/** The modes in which every attack of delegate-hostile.test.ts is tried. */
export const hostileModes = ["patch", "in-place"];

/** Call it before that file is loaded. */
export function tryOnlyMode(mode: string): void {
  hostileModes.splice(0, hostileModes.length, mode);
}
