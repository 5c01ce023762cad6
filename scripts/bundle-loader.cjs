"use strict";
const { readFileSync, renameSync, statSync, writeFileSync } = require("node:fs");
const { basename } = require("node:path");
const { Script } = require("node:vm");

// Starts a program from its bundle, or from its sources if one of them has changed since. Set-up copies this file to
// node_modules/.writ/bundle/ under the name of each program, and the paths below are relative to that folder. Checking
// every source takes a few milliseconds; size and time together also notice a file that was replaced by an older one.
// This is not an ES module, because those load Node's built-in modules more slowly. Why: ADR 0017.
const program = basename(__filename, ".cjs");
const root = `${__dirname}/../../..`;

const bundle = findBundle();
const room = program === "writ-agent" ? "agent" : "cli";
if (bundle === undefined) void import(`${root}/src/${room}/${program}.ts`);
else run(bundle);

/** The name of the bundle, or undefined if a source has changed. */
function findBundle() {
  try {
    const { bundle, sources } = JSON.parse(readFileSync(`${__dirname}/${program}.json`, "utf8"));
    const isFresh = sources.every(([path, size, seconds]) => {
      const found = statSync(`${root}/${path}`, { throwIfNoEntry: false });
      return found?.size === size && Math.floor(found.mtimeMs / 1000) === seconds;
    });
    return isFresh ? bundle : undefined;
  } catch {
    // No bundle was made here, or one of its sources is gone: the sources run.
    return undefined;
  }
}

/** The bundle's name changes with its content, so compiled code of another bundle is never used for it. */
function run(bundle) {
  const kept = `${__dirname}/${bundle}.${commandName()}.cache`;
  const script = new Script(
    `(function(require,module,__dirname){${readFileSync(`${__dirname}/${bundle}`, "latin1")}\n})`,
    {
      filename: `${__dirname}/${bundle}`,
      cachedData: read(kept),
    },
  );
  // V8 reports undefined when there was no cached code to reject.
  if (script.cachedDataRejected !== false) process.once("exit", (exitCode) => keep(script, kept, exitCode));
  script.runInThisContext()(require, module, __dirname);
}

/** Compiled code is cached per command. Only commands that succeed are cached, so there are few names. */
function commandName() {
  const word = process.argv[2] ?? "";
  return /^[a-z][a-z-]{0,19}$/.test(word) ? word : "other";
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    // There is none yet.
    return undefined;
  }
}

/**
 * Caches the compiled code of a short command that succeeded. Node's own compile cache holds only what runs while a file
 * is loaded, not the functions that are called later. Long-running commands gain nothing. Without write access the
 * command is a little slower each time.
 */
function keep(script, path, exitCode) {
  const isShort = process.uptime() < 10;
  if (exitCode !== 0 || !isShort) return;
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, script.createCachedData(), { flag: "wx" });
    renameSync(draft, path);
  } catch {
    // The cache only saves time; the next run tries again.
  }
}
