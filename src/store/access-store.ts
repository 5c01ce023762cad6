import type { Origin } from "../core/events.ts";
import type { Role } from "../core/identity.ts";

/** The part of the store that knows who may call: tokens, and the sessions of browsers. */
export type AccessStore = {
  /**
   * False if the token names a worker of another tenant, unless it may move that worker to its own tenant: only a hub
   * administrator decides that.
   */
  createToken(input: { token: NewToken; mayMove?: boolean; origin: Origin | null }): Promise<boolean>;
  /**
   * By SHA-256 of the secret, in hex. Revoked and expired tokens are returned too; the caller decides and says why.
   */
  findToken(input: { secretHash: string }): Promise<TokenRecord | null>;
  listTokens(): Promise<TokenRecord[]>;
  /** False if there is no such token. Sessions made with it end too. */
  revokeToken(input: { tokenId: string; nowMs: number; origin: Origin | null }): Promise<boolean>;
  /** Replaces a token with another in one act. False if the old one is no longer valid. */
  refreshToken(input: {
    tokenId: string;
    token: NewToken;
    nowMs: number;
    origin: Origin | null;
  }): Promise<boolean>;
  /** Opens a session and, in the same act, ends the one that the browser had before. */
  createSession(input: NewSession): Promise<void>;
  findSession(input: { secretHash: string }): Promise<{ token: TokenRecord; expiresAt: number } | null>;
  removeSession(input: { secretHash: string }): Promise<boolean>;
  /** A code that stands for the token once. Codes that have expired are deleted. */
  createLoginCode(input: {
    codeHash: string;
    tokenId: string;
    expiresAt: number;
    nowMs: number;
  }): Promise<void>;
  /** The token behind the code, for the first caller who shows it in time; null for everybody else. */
  takeLoginCode(input: { codeHash: string; nowMs: number }): Promise<TokenRecord | null>;
};

export type NewToken = {
  id: string;
  secretHash: string;
  role: Role;
  tenantId: string | null;
  userId: string;
  workerId: string | null;
  createdAt: number;
  expiresAt: number | null;
};
export type TokenRecord = NewToken & { revokedAt: number | null };

export type NewSession = {
  secretHash: string;
  /** The session that ends with it: of the cookie which the new one replaces. */
  endedHash?: string | null;
  tokenId: string;
  expiresAt: number;
  origin: Origin | null;
  nowMs: number;
};

/** Each login also deletes some expired sessions, so that they do not pile up. */
export const clearedMax = 100;
