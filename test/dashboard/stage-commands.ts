/** What the invented jobs run, by type. */
export const commands: Record<string, string[]> = {
  "image.resize.v1": ["resize", "catalog/48213.png", "--widths", "320,640,1280"],
  "mail.digest": ["digest", "--since", "yesterday"],
  "etl.orders.load": ["load", "orders", "--from", "s3://orders/2026-11"],
  "backup.snapshot": ["snapshot", "--volume", "pg-main"],
  "solver.route": ["route", "--stops", "96", "--gap", "0.01"],
  "report.monthly": ["report", "--month", "2026-10"],
  "report.weekly": ["python3", "-m", "report", "--week", "46"],
  "delegate.fix": ["./fix.sh", "--validate", "./validate.sh"],
  "tiles.build": ["python3", "-m", "tiles", "build", "--zoom", "0-12"],
  "test.e2e": ["npm", "run", "e2e", "--", "checkout"],
  "embed.batch.v3": ["python3", "-m", "embed", "--batch", "512"],
  exec: ["sh", "-c", "./nightly.sh && ./notify.sh"],
};
