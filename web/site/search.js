// The search page: an index that was made with the site.
new PagefindUI({ element: "#search", showImages: false, resetStyles: false });
