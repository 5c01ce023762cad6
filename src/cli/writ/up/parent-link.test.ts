import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { listenToParent } from "./parent-link.ts";

function listen() {
  const pipe = new PassThrough();
  const heard: string[] = [];
  listenToParent(pipe, { onDrain: () => heard.push("drain"), onStopNow: () => heard.push("now") });
  return { pipe, heard };
}

test("a parent that dies makes the worker drain", async () => {
  const { pipe, heard } = listen();
  pipe.end();
  await expect.poll(() => heard).toEqual(["drain"]);
});

test("a parent's commands arrive in order, however the pipe cuts them", async () => {
  const { pipe, heard } = listen();
  pipe.write("dra");
  pipe.write("in\nno");
  pipe.write("w\n");
  await expect.poll(() => heard).toEqual(["drain", "now"]);
});
