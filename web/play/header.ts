// The header of every page, with a button for light and dark colours; and a button at each code block that copies it.

import { copies, el } from "../src/dom";
import { themeButton } from "../src/theme";

document.querySelector("header")?.append(themeButton());

for (const code of document.querySelectorAll<HTMLElement>("main pre > code")) {
  const button = copies(code.textContent ?? "");
  const next = code.parentElement?.nextElementSibling;
  if (next?.classList.contains("of-code")) next.append(button);
  else code.parentElement?.after(el("p", { class: "of-code" }, button));
}
