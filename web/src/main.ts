import "uplot/dist/uPlot.min.css";
import "./style.css";
import { comparison } from "./comparison";
import { copies, el } from "./dom";
import { figures } from "./figure";
import { read } from "./read";
import { themeButton } from "./theme";

for (const command of document.querySelectorAll("pre.command")) {
  command.before(el("div", { class: "copies" }, copies(command.textContent ?? "")));
}
const data = read();
if ("kind" in data) {
  document.querySelector(".bar.figures")?.append(themeButton());
  figures(data);
} else {
  const { schemes, parts: [first, ...others] } = comparison(data);
  const top = document.getElementById("first");
  if (first) top?.replaceChildren(first);
  document.getElementById("charts")?.replaceChildren(...others);
  top?.before(el("nav", { class: "bar", "aria-label": "View" }, schemes.buttons(), themeButton()));
}
