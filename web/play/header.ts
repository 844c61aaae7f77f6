// The button for light and dark colours, in the header of every page.

import { themeButton } from "../src/theme";

document.querySelector("header")?.append(themeButton());
