// Logs in with the token in the address: `/login#token=...`. The address loses it first, so that the history has none.
function logInFromAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  const field = document.getElementById("token");
  if (token && field) {
    history.replaceState(null, "", location.pathname + location.search);
    field.value = token;
    field.form.submit();
  }
}

addEventListener("hashchange", logInFromAddress);
logInFromAddress();
