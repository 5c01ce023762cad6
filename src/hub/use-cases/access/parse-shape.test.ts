import { expect, test } from "vitest";
import { z } from "zod";
import { environment } from "../../../contract/shapes/run-shapes.ts";
import { parseShape } from "./parse-shape.ts";

test.each(["A B", "1A", "A=B", ""])("the name %j of a variable is refused with what is allowed", (name) => {
  expect(() => parseShape(z.strictObject({ env: environment }), { env: { [name]: "1" } })).toThrow(
    `env.${name}: must be a variable name: letters, digits and _, at most 200, and no digit first`,
  );
});
