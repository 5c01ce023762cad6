import { expect, test } from "vitest";
import { hideJob, hidePaths } from "./hide-paths.ts";

const id = "01a1eddf-24ae-73d9-9c89-4119a31a43d5";

test.each([
  [`home: ENOSPC: filling /srv/w/work/jobs/${id}/2`, "home: ENOSPC: filling WRIT_WORK_DIR"],
  [`cgroup: EBUSY: /sys/fs/cgroup/writ/${id}.1: busy`, "cgroup: EBUSY: a job's folder: busy"],
  [`the cage of ${id} and that of ${id}`, "the cage of a job and that of a job"],
  [
    "/sys/fs/cgroup is read-only; and/or use /srv/w/worker",
    "/sys/fs/cgroup is read-only; and/or use /srv/w/worker",
  ],
])("the reason %j is registered without its job", (reason, cut) => {
  expect(hideJob(reason, "/srv/w/work")).toBe(cut);
});

test("a work directory with a space in its name is hidden as a whole", () => {
  expect(hideJob(`filling "/srv/my work/jobs/${id}": full`, "/srv/my work")).toBe(
    'filling "WRIT_WORK_DIR": full',
  );
});

test("a tenant reads no path of a worker's machine, and the rest of the reason", () => {
  expect(hidePaths(`home: ENOSPC: filling /srv/w/jobs/${id}/2 (in "/tmp"); and/or ${id}`)).toBe(
    'home: ENOSPC: filling a path (in "a path"); and/or a job',
  );
});
