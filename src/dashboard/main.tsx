import "./jitless.ts";
import "./styles/index.css";
import { createRoot } from "react-dom/client";
import { findPerson } from "./hub/session.ts";
import { App } from "./shell/app.tsx";
import { startTheme } from "./shell/theme.ts";

startTheme();
void findPerson();
createRoot(document.getElementById("root")!).render(<App />);
