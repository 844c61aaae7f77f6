// The colours that the reader has chosen, before the page is drawn (web/src/theme.ts keeps them).
{
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
}
