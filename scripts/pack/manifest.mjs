import { programs } from "../paths.mjs";
import { libraries } from "./bundle-package.mjs";

/**
 * The package.json of the package. It has no dependencies, because everything is bundled, and no scripts, because nothing
 * has to run when it is installed.
 */
export function packageManifest({ name, version, description, license, type }) {
  return {
    name,
    version,
    description,
    license,
    type,
    engines: { node: ">=20.12" },
    bin: Object.fromEntries(programs.map((program) => [program, `bin/${program}.js`])),
    exports: {
      ...Object.fromEntries(
        libraries.map((library) => [
          `./${library}`,
          { types: `./types/${library}/index.d.ts`, default: `./lib/${library}.js` },
        ]),
      ),
      "./package.json": "./package.json",
    },
    sideEffects: false,
  };
}
