/** What may be done with an object in storage. */
export const storageMethods = ["PUT", "GET", "HEAD", "DELETE"] as const;

/** The right to use one method on every key below a prefix; an empty prefix means the whole folder. */
export type StorageRight = { folderId: string; prefix: string; method: (typeof storageMethods)[number] };

/** A policy is part of every token of its job, and a token has to fit into a header. */
export const storageRightsMax = 32;
export const storagePolicyCharsMax = 2048;

/** Existing stores allow a key, including its prefix, to have 1024 bytes. */
const keyCharsMax = 1024;
const prefixCharsMax = 512;

/** The longest file name: storage may be a folder on a disk. */
const partCharsMax = 255;

/** An object that a document names, with the SHA-256 that its bytes must have. */
export type StoredFile = { folder_id: string; object_key: string; sha256: string };

/** The part of a document that concerns storage. */
type StorageUse = {
  output_location?: { folder_id: string; prefix?: string };
  storage_access_policy?: StorageRight[];
  run?: { inputs?: readonly StoredFile[]; stdin_from?: StoredFile };
};

/** Where the files of a job are kept that has `run.collect`, or is a coding agent's, and names no place. */
export const outputFolderDefault = "jobs";

/**
 * What an attempt of this job may do in storage beside reading its inputs: what its policy allows, or else put files at
 * its output location. Null if the job has neither an output location nor inputs and therefore nothing to do there.
 * Why: ADR 0016.
 */
export function storagePolicyOf(document: StorageUse): StorageRight[] | null {
  const { output_location: location, storage_access_policy: policy } = document;
  if (location === undefined) return inputsOf(document).length === 0 ? null : [];
  const rights = policy ?? [
    { folderId: location.folder_id, prefix: location.prefix ?? "", method: "PUT" as const },
  ];
  return rights.map(({ folderId, prefix, method }) => ({
    folderId,
    prefix: withoutEndSlash(prefix),
    method,
  }));
}

/**
 * The input that is meant by this request, if the document names the object as one: its attempts may then read it. These
 * rights are not in the policy, because it has to fit into a token and there may be hundreds of inputs. If the document names
 * several files that had the same key one after the other, the request says which by its hash.
 */
export function inputFor(
  document: StorageUse,
  wanted: {
    folderId: string;
    objectKey: string;
    method: StorageRight["method"];
    sha256?: string | undefined;
  },
): StoredFile | null {
  if (wanted.method !== "GET" && wanted.method !== "HEAD") return null;
  const named = inputsOf(document).filter(
    ({ folder_id, object_key }) => folder_id === wanted.folderId && object_key === wanted.objectKey,
  );
  return named.find(({ sha256 }) => sha256 === wanted.sha256?.replace(/^sha256:/, "")) ?? named[0] ?? null;
}

export function inputsOf({ run }: StorageUse): readonly StoredFile[] {
  return [...(run?.inputs ?? []), ...(run?.stdin_from === undefined ? [] : [run.stdin_from])];
}

/**
 * Whether one of these rights covers this object. Prefixes are compared part by part: `run` does not cover `run-2/x`.
 */
export function allowsObject(
  policy: readonly StorageRight[],
  wanted: { folderId: string; objectKey: string; method: StorageRight["method"] },
): boolean {
  return policy.some(
    ({ folderId, prefix, method }) =>
      folderId === wanted.folderId &&
      method === wanted.method &&
      (prefix === "" || wanted.objectKey.startsWith(`${withoutEndSlash(prefix)}/`)),
  );
}

/** Why this is not a prefix of keys; null if it is one. */
export function storagePrefixProblem(prefix: string): string | null {
  if (prefix.length > prefixCharsMax) return `must have at most ${prefixCharsMax} characters`;
  return prefix === "" ? null : pathProblem(prefix);
}

/** Why this is not the key of an object; null if it is one. */
export function objectKeyProblem(key: string): string | null {
  if (key === "") return "must not be empty";
  if (key.length > keyCharsMax) return `must have at most ${keyCharsMax} characters`;
  return key.endsWith("/") ? "must not end with /" : pathProblem(key);
}

/**
 * Characters that mean the same in a URL, in a file name and in every store: nothing has to be escaped, so nothing can
 * be unescaped into something else.
 */
function pathProblem(path: string): string | null {
  if (!/^[A-Za-z0-9._=@+/-]*$/.test(path)) return "must contain only letters, digits and . _ = @ + - /";
  if (path.startsWith("/")) return "must not start with /";
  const parts = withoutEndSlash(path).split("/");
  if (parts.includes("")) return "must have single slashes";
  if (parts.some((part) => part === "." || part === "..")) return "must not contain . or .. between slashes";
  return parts.some((part) => part.length > partCharsMax)
    ? `must have at most ${partCharsMax} characters between slashes`
    : null;
}

/** `a/b` and `a/b/` mean the same, so only one spelling is kept and compared. */
function withoutEndSlash(prefix: string): string {
  return prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
}
