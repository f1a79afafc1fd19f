// The theme is set before the first paint, so that a dark page never flashes white. The app keeps it (app/theme.ts).
(function () {
  var theme = null;
  try {
    theme = localStorage.getItem("skelo.theme");
  } catch (error) {
    console.info("no theme is kept: storage is not allowed", error);
  }
  if (theme !== "light" && theme !== "dark") {
    theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  document.documentElement.dataset.theme = theme;
})();
