import { rmSync } from "node:fs";

/**
 * Removes a home whose program was killed. A worker may outlive its parent by a moment, and a file that it makes in a
 * folder that is just being emptied makes that folder's removal fail.
 */
export function removeHome(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
