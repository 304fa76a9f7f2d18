// On the page of a ledger's query: what Datasette and datasette-vega leave out for readers without a
// mouse or with weak eyes, and the offer to keep the chart among those of the cost review.

// Datasette 0.65's, on which white letters have too little contrast, and a darker one.
const PALE_BLUE = "rgb(0, 123, 255)";
const BLUE = "#0062cc";

// What to click where the query comes without a chart, in the words of the widget's buttons.
const HOW =
  "To keep a chart of these rows: click “Show charting options”, choose Bar, Line or Scatter," +
  " then click “Save this chart”.";

// `offer` has the addresses `save` and `review` and the `token` that a POST carries; null for none.
// `chart` is the fragment of the chart that the query comes with, null for none: the page opens with
// it. This runs before the widget reads the address.
export default function begin(offer, chart) {
  if (chart && !location.hash) history.replaceState(history.state, "", `#${chart}`);
  document.documentElement.lang ||= "en";
  for (const button of document.querySelectorAll("form.sql input[type=submit]")) {
    if (getComputedStyle(button).backgroundColor === PALE_BLUE) button.style.background = BLUE;
  }
  const table = document.querySelector("table.rows-and-columns");
  if (!table) return;
  if (offer && !location.hash) table.before(makeHint());
  whenDrawn(table, offer);
}

function makeHint() {
  const hint = document.createElement("p");
  hint.id = "tm-how-to-save";
  hint.textContent = HOW;
  return hint;
}

// The widget draws when it has fetched the rows, or when its reader has chosen what to draw.
function whenDrawn(table, offer) {
  const watch = new MutationObserver(() => {
    const chart = table.parentNode.querySelector(".vega-embed");
    if (!chart) return;
    watch.disconnect();
    document.getElementById("tm-how-to-save")?.remove();
    // A chart that is wider than the page can be scrolled without a mouse.
    const frame = chart.parentElement;
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Chart");
    if (offer) table.before(makeForm(offer));
  });
  watch.observe(table.parentNode, { childList: true, subtree: true });
}

function makeForm(offer) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = offer.save;
  form.style = "display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; margin: 0.8rem 0";
  form.innerHTML = `
    <label style="width: auto">Title
      <input name="title" type="text" required maxlength="120" autocomplete="off" style="width: 20rem; max-width: 100%">
    </label>
    <button type="submit">Save this chart</button>
    <span role="status"></span>`;
  form.elements.title.value = document.querySelector("h1").textContent.trim().slice(0, 120);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(form, offer);
  });
  return form;
}

async function save(form, offer) {
  const status = form.querySelector("[role=status]");
  const button = form.querySelector("button");
  button.disabled = true;
  status.textContent = "";
  try {
    const answer = await fetch(offer.save, {
      method: "POST",
      headers: { accept: "application/json", "x-csrftoken": offer.token },
      body: new URLSearchParams({
        title: form.elements.title.value,
        path: location.pathname,
        parameters: location.search,
        fragment: location.hash,
      }),
    });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.error || `the server answers ${answer.status}`);
    const link = document.createElement("a");
    link.href = offer.review;
    link.textContent = "cost review";
    status.append("Saved. It is in the ", link, ".");
  } catch (error) {
    status.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}
