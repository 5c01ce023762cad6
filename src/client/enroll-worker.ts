import { workerId } from "../contract/shapes/fields.ts";
import { WritError } from "../core/errors.ts";
import { isTrustedState } from "../core/key-times.ts";
import { readPrivateFile, writePrivateFile } from "../runtime/files/private-file.ts";
import type { Writ } from "./writ.ts";

export type EnrollOptions = {
  /** The worker's id. The token is valid only for this worker. */
  name: string;
  hubUrls: readonly string[];
  /** PEM of the authority that signed the hub's certificate, if it is not a public one. */
  caPem?: string | undefined;
  /** Where the agents.yaml goes. Settings that a person has added to an existing one stay. */
  file: string;
  /** A token that the worker already has; by default a new one is issued. */
  token?: string | undefined;
  /** Where repositories for coding agents may be, for a file that does not exist yet. */
  repoRoots?: readonly string[] | undefined;
};

export type EnrolledWorker = { workerId: string; file: string };

/** Writes the one file that a worker needs: where the hub is, who the worker is, and which keys to trust. */
export async function enrollWorker(writ: Writ, options: EnrollOptions): Promise<EnrolledWorker> {
  const { name, file } = options;
  const named = workerId.safeParse(name);
  if (!named.success) {
    throw new WritError(
      "INVALID_ARGUMENT",
      `worker name ${JSON.stringify(name)} ${named.error.issues[0]?.message}`,
    );
  }
  const older = (await readPrivateFile(file)) ?? "";
  const keys = await trustedKeys(writ);
  if (options.token !== undefined) {
    await writePrivateFile(file, await agentsYaml(older, { ...options, keys, token: options.token }));
    return { workerId: name, file };
  }
  const { id, token } = await writ.createToken({ role: "worker", workerId: name });
  try {
    await writePrivateFile(file, await agentsYaml(older, { ...options, keys, token }));
  } catch (error) {
    // A token that was not written down must not stay valid. The first error is the one to report.
    await writ.revokeToken(id).catch(() => {});
    throw error;
  }
  return { workerId: name, file };
}

/** The keys that a worker should trust, as PEM. */
async function trustedKeys(writ: Writ): Promise<string[]> {
  const keys = await writ.keys();
  return keys.filter(({ status }) => isTrustedState(status)).map((key) => key.public_key);
}

type Agents = Omit<EnrollOptions, "token" | "file"> & { token: string; keys: string[] };

async function agentsYaml(older: string, agents: Agents): Promise<string> {
  const { name, hubUrls, caPem, token, keys, repoRoots } = agents;
  // Few clients enroll workers, and it is a fifth of what they would load.
  const { parseDocument } = await import("yaml");
  const document = parseDocument(older);
  if (document.errors.length > 0) {
    throw new WritError(
      "CONFIG_INVALID",
      `the existing agents.yaml is not valid YAML: ${document.errors[0]?.message}`,
    );
  }
  document.setIn(["server", "url"], hubUrls.join(","));
  document.setIn(["server", "worker_id"], name);
  document.setIn(["server", "worker_token"], token);
  if (caPem === undefined) document.deleteIn(["server", "ca"]);
  else document.setIn(["server", "ca"], caPem);
  document.setIn(["security", "job_signing_public_keys"], keys);
  document.deleteIn(["security", "job_signing_public_key"]);
  if (older === "" && repoRoots !== undefined) document.setIn(["security", "repo_roots"], repoRoots);
  return document.toString({ lineWidth: 0 });
}
