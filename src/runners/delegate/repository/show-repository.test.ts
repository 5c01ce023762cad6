import { expect, test } from "vitest";
import { showRepository } from "./show-repository.ts";

test("a repository at a path that the cage uses itself is refused for good", async () => {
  const paths = { root: "/tmp", owner: { uid: 0, gid: 0 }, allowed: [], hidden: [] };
  const shown = { paths, isMapped: false, writable: [], gitPaths: [], covered: [], spareDir: "/nowhere" };
  await expect(showRepository(shown)).rejects.toMatchObject({
    code: "INVALID_JOB",
    detail: "JOB_NOT_ACCEPTED",
    message: expect.stringContaining("/tmp is the job's own folder"),
  });
});
