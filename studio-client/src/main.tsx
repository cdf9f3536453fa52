import { createRoot } from "react-dom/client";
import { App } from "./App";
import { start } from "./state/studio";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(<App />);
  start();
}
