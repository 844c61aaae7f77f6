import "uplot/dist/uPlot.min.css";
import "./style.css";
import { comparison } from "./comparison";
import { el } from "./dom";
import { figures } from "./figure";
import { read } from "./read";
import { themeButton } from "./theme";

const data = read();
if ("kind" in data) {
  document.querySelector(".bar.figures")?.append(themeButton());
  figures(data);
} else {
  const { schemes, parts } = comparison(data);
  const charts = document.getElementById("charts");
  charts?.replaceChildren(...parts);
  charts?.before(el("nav", { class: "bar", "aria-label": "View" }, schemes.buttons(), themeButton()));
}
