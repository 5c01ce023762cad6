/**
 * The addresses of the dashboard's pages. The hub answers each of them with the same document, which reads the address
 * and shows the page. Why: ADR 0046.
 */
export const pagePaths = [
  "/",
  "/jobs",
  "/jobs/:id",
  "/submit",
  "/fleet",
  "/queues",
  "/audit",
  "/access",
  "/settings",
] as const;
export type PagePath = (typeof pagePaths)[number];
