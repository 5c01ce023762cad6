import { WritError } from "../core/errors.ts";
import { parseTraceparent } from "../core/trace-context.ts";
import type { OptionNames } from "../runtime/check-options.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { homeOfUser, resolveHome } from "../runtime/settings/home.ts";
import type { RpcOptions } from "./grpc/find-rpc.ts";
import { findCheckout } from "./hub/checkout.ts";

export type WritOptions = {
  /**
   * The hub's address, or those of several hubs of one installation: a list, or text with commas. When one cannot be
   * reached, the next is used. By default the hub that runs in `home`.
   */
  url?: string | readonly string[] | undefined;
  /** How long a call tries again while no hub can be reached (default: 5 s with several addresses, else not at all). */
  retryMs?: number | undefined;
  token?: string | undefined;
  /** A client certificate instead of a token: it is exchanged for tokens of ten minutes over gRPC. */
  certificate?: RpcOptions | undefined;
  /** A hub's home: its address and the administrator's token are read from there. */
  home?: string | undefined;
  /** PEM of the authority that signed the hub's certificate. */
  ca?: string | undefined;
  caFile?: string | undefined;
  /** Allows plain http:// to another machine. */
  allowInsecure?: boolean | undefined;
  /** False: every call goes over HTTP, and none in frames on one upgraded connection. */
  frames?: boolean | undefined;
  /** The trace that this client's jobs belong to (W3C `traceparent`); a job that has its own keeps it. */
  traceparent?: string | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
};

/** The names of `WritOptions`. */
export const writOptions: OptionNames<WritOptions> = {
  url: true,
  token: true,
  home: true,
  certificate: true,
  ca: true,
  caFile: true,
  allowInsecure: true,
  frames: true,
  retryMs: true,
  traceparent: true,
  clock: true,
  random: true,
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The options from the environment: WRIT_HUB_URL, WRIT_TOKEN, WRIT_HOME, WRIT_CA_FILE, WRIT_ALLOW_INSECURE,
 * WRIT_FRAMES, and TRACEPARENT, as a job of ours and other programs set it.
 */
export function optionsFromEnvironment(env: Environment): WritOptions {
  return {
    url: env["WRIT_HUB_URL"] || undefined,
    token: tokenOf(env),
    home: resolveHome({ env, checkoutDir: findCheckout(import.meta.url), userHome: homeOfUser(env) }),
    caFile: env["WRIT_CA_FILE"] || undefined,
    allowInsecure: flagOf(env, "WRIT_ALLOW_INSECURE", false),
    frames: flagOf(env, "WRIT_FRAMES", true),
    traceparent: traceparentOf(env),
  };
}

/** A trace context that cannot be read is ignored, as the standard demands. */
export function traceparentOf({ TRACEPARENT: given = "" }: Environment): string | undefined {
  return parseTraceparent(given) === null ? undefined : given;
}

/** An empty one is refused: it may be a missing secret, and the home's administrator would act instead. */
function tokenOf({ WRIT_TOKEN: token }: Environment): string | undefined {
  if (token !== "") return token;
  throw new WritError("CONFIG_INVALID", "WRIT_TOKEN is empty; give a token, or leave it out");
}

function flagOf(env: Environment, name: string, fallback: boolean): boolean {
  const value = env[name] || String(fallback);
  if (value === "true" || value === "false") return value === "true";
  throw new WritError(
    "CONFIG_INVALID",
    `${name}: ${JSON.stringify(value)} is not allowed; use true or false`,
  );
}
