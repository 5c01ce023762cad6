/** Which test files run a third time, with hubs that keep their jobs in group frames. */

/** In `npm test`: they share a process with others, and ask for every route. */
export const fastOnFrames = ["test/http/**/*.test.ts"];

/** In `npm run test:long`: those that start whole hubs on a file of SQLite. */
export const longOnFrames = [
  "test/faults/{full-disk,full-home,hub-kill,mqtt-broker,worker-kill}.test.ts",
  "test/e2e/**/*.test.ts",
  "test/hub/!(postgres-*).test.ts",
  "test/mqtt/**/*.test.ts",
  "test/s3/**/*.test.ts",
  "test/shared-outputs/**/*.test.ts",
  "test/trust/**/*.test.ts",
];

/** Single tests of these files do not apply; each says so where it stands. */
export const partlyOnFrames: Record<string, string> = {
  "test/trust/audit-verify.test.ts": "edits rows of records; audit-trail.test.ts here edits frames",
};
