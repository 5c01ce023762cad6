import type { Role } from "../../src/core/identity.ts";
import type { TestHub } from "./hub.ts";

export type TokenWish = {
  role: Role;
  tenant_id?: string;
  user_id?: string;
  worker_id?: string;
  expires_in_sec?: number;
};

export type IssuedToken = { id: string; token: string };

export async function issueToken(hub: TestHub, wish: TokenWish): Promise<IssuedToken> {
  return (await hub.must("POST", "/tokens", { token: hub.admin, body: wish })).json<IssuedToken>();
}

/** Everybody a test may need: two users of one tenant, one of another, viewers, workers and administrators. */
export async function issueTokens(hub: TestHub) {
  const issue = async (wish: TokenWish) => (await issueToken(hub, wish)).token;
  return {
    admin: hub.admin,
    alice: await issue({ role: "user", tenant_id: "acme", user_id: "alice" }),
    bob: await issue({ role: "user", tenant_id: "acme", user_id: "bob" }),
    eve: await issue({ role: "user", tenant_id: "globex", user_id: "eve" }),
    acmeAdmin: await issue({ role: "admin", tenant_id: "acme", user_id: "ada" }),
    globexAdmin: await issue({ role: "admin", tenant_id: "globex", user_id: "gus" }),
    viewer: await issue({ role: "viewer", user_id: "vic" }),
    acmeViewer: await issue({ role: "viewer", tenant_id: "acme", user_id: "val" }),
    globexViewer: await issue({ role: "viewer", tenant_id: "globex", user_id: "gil" }),
    /** May act as any worker and take any tenant's jobs. */
    worker: await issue({ role: "worker" }),
    /** May act as worker `bound` only. */
    boundWorker: await issue({ role: "worker", worker_id: "bound" }),
    /** May take the jobs of one tenant only. */
    acmeWorker: await issue({ role: "worker", tenant_id: "acme" }),
    globexWorker: await issue({ role: "worker", tenant_id: "globex" }),
  };
}

export type Tokens = Awaited<ReturnType<typeof issueTokens>>;
