import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import { dashboardDir } from "../paths.mjs";

const ofCheckout = '<meta name="writ-programs" content="bin/"';
const ofPackage = '<meta name="writ-programs" content="npx "';

/** The dashboard as a checkout has it, but with the commands as somebody types them who has installed the package. */
export function copyDashboard(dir) {
  cpSync(dashboardDir, dir, { recursive: true });
  const page = join(dir, "index.html");
  const text = readFileSync(page, "utf8");
  if (!text.includes(ofCheckout)) throw new Error(`${page} does not say how programs are called`);
  const changed = text.replace(ofCheckout, ofPackage);
  writeFileSync(page, changed);
  writeFileSync(`${page}.gz`, gzipSync(changed, { level: constants.Z_BEST_COMPRESSION }));
}
