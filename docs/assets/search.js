// Browsers do not let a page read its search index from the disk, so say how to get the search.
if (location.protocol === "file:") {
  for (const box of document.querySelectorAll("input[name=q]")) {
    box.disabled = true;
    box.placeholder = "Search needs: make docs-serve";
    box.title = "Search works when the site is served: make docs-serve";
  }
}
