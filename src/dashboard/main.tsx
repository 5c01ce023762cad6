// The dashboard in the browser. Why: ADR 0046.
import "./styles/index.css";
import { createRoot } from "react-dom/client";
import { enter } from "./hub/session.ts";
import { App } from "./shell/app.tsx";
import { startTheme } from "./shell/theme.ts";

startTheme();
void enter();
createRoot(document.getElementById("root")!).render(<App />);
