import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { WritError } from "../../core/errors.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import { takeCertActs } from "../certs/cert-acts.ts";
import { certPaths } from "../certs/cert-paths.ts";
import { certificateRequest } from "../certs/certificate-request.ts";
import { authorityFiles, readClientAuthorities } from "../certs/client-authorities.ts";
import { ensureCerts, isRenewalDue } from "../certs/ensure-certs.ts";
import { followFiles } from "../certs/follow-files.ts";
import { authoritiesPath, givenPaths, type HubTls, readGivenPair } from "../certs/hub-tls.ts";
import type { KeyPair } from "../certs/make-certificate.ts";
import { type PairPaths, readTlsPair } from "../certs/tls-pair.ts";
import type { HubDeps } from "../deps.ts";
import type { HttpServer } from "../http/server.ts";
import type { RpcServer } from "../rpc/server.ts";
import { recordCertActs } from "../use-cases/access/manage-certs.ts";

/** How often the files are checked for changes, which costs almost nothing. */
const checkMs = 10_000;
/**
 * How soon a renewal may follow another. A failed one has 30 days left to succeed, and one without effect must not fill
 * the disk.
 */
const renewAgainMs = 3_600_000;

type CertWatchDeps = Pick<
  HubDeps,
  "clock" | "logger" | "failures" | "settings" | "home" | "store" | "issuedCerts" | "homeAdmins"
> & {
  osUser: string;
  http: Pick<HttpServer, "showPair">;
  rpc: Pick<RpcServer, "showPair" | "setClientAuthorities">;
};

/**
 * Follows the certificates of a hub that runs for months: renews the home's own before they expire, and passes changes
 * on disk to the ports. New connections use them, open ones continue. Files that cannot be used change nothing. Acts of
 * `writ certs` are recorded. Why: ADR 0012.
 */
export function createCertWatch(deps: CertWatchDeps, started: HubTls): Service {
  const { clock, failures } = deps;
  const tls = { ...started };
  const renew = renewal(deps, tls);
  const looks = [followOwn(deps, tls), followGiven(deps, tls), followAuthorities(deps, tls)];
  const onError = (error: unknown) => failures.error(error, "the certificates could not be checked");
  return repeat({ name: "certificate watch", intervalMs: checkMs, clock, onError }, async () => {
    await renew();
    for (const look of looks) await look();
    await takeCertActs(certPaths(deps.home), (acts) => recordCertActs(deps, acts));
  });
}

/** Renews as a start does. The files that it writes are then loaded like other changed files. */
function renewal({ home, settings, clock, logger, osUser }: CertWatchDeps, tls: HubTls): () => Promise<void> {
  let notBefore = Number.NEGATIVE_INFINITY;
  return async () => {
    const request = certificateRequest(settings, { osUser, nowMs: clock.nowMs() });
    if (clock.monotonicMs() < notBefore || !(await isRenewalDue(home, request, tls.own))) return;
    notBefore = clock.monotonicMs() + renewAgainMs;
    try {
      await ensureCerts(home, request);
    } catch (error) {
      logger.error(
        `the hub's certificates expire soon and could not be renewed (${reasonOf(error)}); fix that and run: writ certs renew`,
      );
    }
  };
}

function followOwn(deps: CertWatchDeps, tls: HubTls): () => Promise<void> {
  const { serverCert, serverKey } = certPaths(deps.home);
  const paths = { certPath: serverCert, keyPath: serverKey };
  return followPair(deps, paths, async () => {
    const pair = await readTlsPair(paths, { mustBePrivate: true });
    if (isDeepStrictEqual(pair, tls.own)) return null;
    deps.rpc.showPair(pair);
    if (tls.given === null) deps.http.showPair(pair);
    tls.own = pair;
    return pair;
  });
}

function followGiven(deps: CertWatchDeps, tls: HubTls): () => Promise<void> {
  const paths = givenPaths(deps.settings);
  if (paths === null) return async () => {};
  return followPair(deps, paths, async () => {
    const pair = await readGivenPair(paths);
    if (isDeepStrictEqual(pair, tls.given)) return null;
    deps.http.showPair(pair);
    tls.given = pair;
    return pair;
  });
}

/** `take` returns the pair that is used from now on, or null if it is the same as before. */
function followPair({ logger }: CertWatchDeps, paths: PairPaths, take: () => Promise<KeyPair | null>) {
  const { certPath, keyPath } = paths;
  return followFiles({
    files: () => [certPath, keyPath],
    async take() {
      const pair = await take();
      if (pair === null) return;
      const { serialNumber, validToDate } = new X509Certificate(pair.certPem);
      logger.info(
        { file: certPath, serial: serialNumber, ends_at: validToDate.toISOString() },
        "the new certificate is used for new connections",
      );
    },
    onRefused: (error) =>
      logger.error(
        { file: certPath },
        `the new certificate cannot be used, so the old one stays: ${reasonOf(error)}`,
      ),
  });
}

function followAuthorities(deps: CertWatchDeps, tls: HubTls): () => Promise<void> {
  const { logger, rpc, settings, home } = deps;
  const path = authoritiesPath(home, settings);
  return followFiles({
    // The folder itself too, because files are added and removed. If it cannot be read, `take` reports why.
    files: async () => [path, ...(await authorityFiles(path).catch(() => []))],
    async take() {
      const clientAuthorities = await readClientAuthorities(path);
      if (isDeepStrictEqual(clientAuthorities, tls.clientAuthorities)) return;
      rpc.setClientAuthorities(clientAuthorities);
      tls.clientAuthorities = clientAuthorities;
      logger.info({ file: path, count: clientAuthorities.length }, "the client authorities have changed");
    },
    onRefused: (error) =>
      logger.error({ file: path }, `the client authorities stay as they were: ${reasonOf(error)}`),
  });
}

/**
 * A WritError names the file and what to do. Of other errors only the code is shown, because their text may contain
 * secrets.
 */
function reasonOf(error: unknown): string {
  if (error instanceof WritError) return error.message;
  return (error as NodeJS.ErrnoException).code ?? "it cannot be read";
}
