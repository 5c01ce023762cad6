"use strict";
const { readFileSync, renameSync, statSync, writeFileSync } = require("node:fs");
const { basename } = require("node:path");
const { Script } = require("node:vm");

// Starts a program from its bundle, or from its source when that has changed since. Set-up copies this file to
// node_modules/.writ/bundle/, once under the name of each program, and the paths below are seen from there. One look
// at each source costs a few thousandths of a second; size and time together also notice a file that was replaced by
// an older one. It is no ES module because those take longer to load what is built into Node.
const program = basename(__filename, ".cjs");
const root = `${__dirname}/../../..`;

const bundle = findBundle();
if (bundle === undefined) import(`${root}/src/cli/${program}.ts`);
else run(bundle);

/** The name of the bundle, if it still is what the sources say. */
function findBundle() {
  try {
    const { bundle, sources } = JSON.parse(readFileSync(`${__dirname}/${program}.json`, "utf8"));
    const isFresh = sources.every(([path, size, seconds]) => {
      const found = statSync(`${root}/${path}`, { throwIfNoEntry: false });
      return found?.size === size && Math.floor(found.mtimeMs / 1000) === seconds;
    });
    return isFresh ? bundle : undefined;
  } catch {
    return undefined;
  }
}

/** The bundle's name changes with its content, so that what was kept of another one is never taken for its own. */
function run(bundle) {
  const kept = `${__dirname}/${bundle}.${commandName()}.cache`;
  const script = new Script(
    `(function(require,module,__dirname){${readFileSync(`${__dirname}/${bundle}`, "latin1")}\n})`,
    {
      filename: `${__dirname}/${bundle}`,
      cachedData: read(kept),
    },
  );
  // V8 says undefined when there was nothing that it could have refused.
  if (script.cachedDataRejected !== false) process.once("exit", (exitCode) => keep(script, kept, exitCode));
  script.runInThisContext()(require, module, __dirname);
}

/** Each command keeps what it needs itself. Only a command that exists ends well, so there are not many names. */
function commandName() {
  const word = process.argv[2] ?? "";
  return /^[a-z]{1,20}$/.test(word) ? word : "other";
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Keeps the code of a command that was short and went well: Node's own cache would hold what runs at once and nothing
 * of the functions that are called later. What lives for longer gains nothing by it. Where we may not write, the
 * command is a little slower each time.
 */
function keep(script, path, exitCode) {
  const isShort = process.uptime() < 10;
  if (exitCode !== 0 || !isShort) return;
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, script.createCachedData(), { flag: "wx" });
    renameSync(draft, path);
  } catch {}
}
