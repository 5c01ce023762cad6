import { expect, test } from "vitest";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { Repositories } from "./repositories.ts";

const never = new AbortController().signal;
const atOnce = { waitMs: 0, signal: never };
const later = { waitMs: 60_000, signal: never };

test("O-44 jobs take overlapping paths of any repository one after the other", async () => {
  const repositories = new Repositories(systemClock);
  const free = await repositories.take("/srv/a", ["src", "docs"], atOnce);
  expect(free).not.toBeNull();
  for (const [root, paths] of [
    ["/srv/a", ["src/lib"]],
    ["/srv/a", [""]],
    ["/srv/a/docs", ["guide"]],
    ["/srv", ["a"]],
  ] as const)
    expect(await repositories.take(root, paths, atOnce), `${root} ${paths}`).toBeNull();
  for (const [root, paths] of [
    ["/srv/a", ["src-evil"]],
    ["/srv/b", ["src"]],
    ["/srv/a", []],
  ] as const)
    expect(await repositories.take(root, paths, atOnce), `${root} ${paths}`).not.toBeNull();
  free!();
  expect(await repositories.take("/srv/a", ["src/lib"], atOnce)).not.toBeNull();
});

test("O-44 waiting jobs take paths in order of arrival, and a stopped one blocks no other", async () => {
  const repositories = new Repositories(systemClock);
  const order: string[] = [];
  const first = await repositories.take("/srv/a", ["src"], later);
  const stop = new AbortController();
  const stopped = repositories.take("/srv/a", ["src"], { waitMs: 60_000, signal: stop.signal });
  const second = repositories.take("/srv/a", ["src"], later).then((free) => {
    order.push("second");
    free!();
  });
  const third = repositories.take("/srv/a", ["src/lib"], later).then(() => order.push("third"));
  stop.abort();
  expect(await stopped).toBeNull();
  first!();
  await Promise.all([second, third]);
  expect(order).toEqual(["second", "third"]);
});
