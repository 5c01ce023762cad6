import { X509Certificate } from "node:crypto";
import { WritError } from "../../core/errors.ts";
import { readPrivateFile, readSmallFile } from "../../runtime/files/private-file.ts";
import type { YamlPath } from "../../runtime/settings/yaml-file.ts";
import type { AgentsFile } from "./agents-shape.ts";

/** A problem at a key of the file, and what is allowed there. */
export type FileProblem = { path: YamlPath; message: string };

/** The same file with every path in full. */
export function withFullPaths(file: AgentsFile, full: (path: string) => string): AgentsFile {
  const { server, capabilities, execution } = file;
  const secrets = Object.entries(execution?.secrets ?? {}).map(
    ([name, secret]) => [name, { ...secret, file: full(secret.file) }] as const,
  );
  return {
    ...file,
    server: { ...server, ...(server.ca_file && { ca_file: full(server.ca_file) }) },
    ...(capabilities && {
      capabilities: capabilities.map(({ api_key_file: key, ...rest }) => ({
        ...rest,
        ...(key !== undefined && { api_key_file: full(key) }),
      })),
    }),
    ...(execution && {
      execution: {
        ...execution,
        ...(execution.secrets && { secrets: Object.fromEntries(secrets) }),
        ...(execution.agents && {
          agents: execution.agents.map(({ home, ...rest }) => ({
            ...rest,
            ...(home !== undefined && { home: full(home) }),
          })),
        }),
      },
    }),
  };
}

/** The problems of the files that it names: files with secrets must exist, and only their owner may read them. */
export async function referenceProblems({
  server,
  capabilities = [],
  execution,
}: AgentsFile): Promise<FileProblem[]> {
  const keys = capabilities.flatMap(({ api_key_file: file }, at) =>
    file === undefined ? [] : [{ path: ["capabilities", at, "api_key_file"], file }],
  );
  const secrets = Object.entries(execution?.secrets ?? {}).map(([name, { file }]) => ({
    path: ["execution", "secrets", name, "file"],
    file,
  }));
  const found = await Promise.all(
    [...keys, ...secrets].map(async ({ path, file }) => ({
      path,
      message: await fileProblem(file, () => readPrivateFile(file)),
    })),
  );
  const problems = [...(await authorityProblems(server)), ...found];
  return problems.flatMap(({ path, message }) => (message === undefined ? [] : [{ path, message }]));
}

type Found = { path: (string | number)[]; message: string | undefined };

async function authorityProblems({ ca, ca_file: file }: AgentsFile["server"]): Promise<Found[]> {
  if (ca !== undefined) return [{ path: ["server", "ca"], message: certificateProblem(ca) }];
  if (file === undefined) return [];
  const path = ["server", "ca_file"];
  const missing = await fileProblem(file, () => readSmallFile(file, { mustBePrivate: false }));
  if (missing !== undefined) return [{ path, message: missing }];
  const text = (await readSmallFile(file, { mustBePrivate: false })) ?? "";
  const problem = certificateProblem(text);
  return [{ path, message: problem && `${file} ${problem}` }];
}

function certificateProblem(pem: string): string | undefined {
  try {
    new X509Certificate(pem);
    return undefined;
  } catch {
    // OpenSSL's reason does not help a person who put another text there.
    return "must be a certificate in PEM";
  }
}

async function fileProblem(file: string, read: () => Promise<string | null>): Promise<string | undefined> {
  try {
    return (await read()) === null ? `${file} does not exist` : undefined;
  } catch (error) {
    if (error instanceof WritError) return error.message;
    throw error;
  }
}
