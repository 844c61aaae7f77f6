// The search page: an index that was made with the site.
new PagefindUI({ element: "#search", showImages: false, resetStyles: false });
// Its field has only a title, which is no label.
document.querySelector("#search input")?.setAttribute("aria-label", "Search the documentation");
