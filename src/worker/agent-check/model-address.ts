import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A trial uses no real key. */
const key = "writ-doctor";

/**
 * Makes known coding agents use the model at this address, by variables that they read and by files in a home for the
 * trial. They are also told to call no other server, for example to look for a newer version. Other agents have
 * `{endpoint}` and JOB_MODEL_ENDPOINT.
 */
export function modelVariables(url: string): Record<string, string> {
  const baseURL = `${url}/v1`;
  const providers = ["anthropic", "openai", "openrouter"].map((name) => [
    name,
    { options: { baseURL, apiKey: key } },
  ]);
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    OPENAI_BASE_URL: baseURL,
    OPENAI_API_BASE: baseURL,
    OPENAI_API_KEY: key,
    CODEX_API_KEY: key,
    OPENROUTER_API_KEY: key,
    OPENROUTER_API_BASE: baseURL,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: Object.fromEntries(providers) }),
  };
}

export async function writeModelFiles(home: string, url: string): Promise<void> {
  const gemini = {
    security: { auth: { selectedType: "gemini-api-key" } },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  };
  const files = {
    ".codex/config.toml": `openai_base_url = "${url}/v1"\ncheck_for_update_on_startup = false\n`,
    ".gemini/settings.json": JSON.stringify(gemini),
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text, { mode: 0o600 });
  }
}
