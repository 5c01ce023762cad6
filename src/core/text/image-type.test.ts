import { expect, test } from "vitest";
import { imageTypeOf, previewBytesMax } from "./image-type.ts";

test("what is not a small picture by its name is not shown as one", () => {
  for (const name of ["a.svg", "a.svgz", "a.html", "a", "png", "a.png.html", "a.constructor", "a.toString"]) {
    expect(imageTypeOf({ name, size: 1 }), name).toBeNull();
  }
  expect(imageTypeOf({ name: "a.png", size: previewBytesMax + 1 })).toBeNull();
  expect(imageTypeOf({ name: "a.png", size: null })).toBeNull();
});

test("a picture has the type of its name", () => {
  expect(imageTypeOf({ name: "charts/a.PNG", size: 1 })).toBe("image/png");
  expect(imageTypeOf({ name: "b.jpeg", size: previewBytesMax })).toBe("image/jpeg");
});
