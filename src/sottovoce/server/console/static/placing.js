/** Places tasks on the plan by mouse, touch or keyboard. Coordinates are in ten-thousandths of the plan's sides. */
const form = document.querySelector("#placing");
const [WHOLE, STEP, SMALL_STEP, MOST_POINTS] = [10_000, 100, 10, 100];

function prepare() {
  const svg = form.querySelector("svg");
  const status = document.querySelector("#placing-status");
  const choices = [...form.querySelectorAll("input[name=task]")];
  const places = new Map(choices.map(({ value, dataset }) => [value, JSON.parse(dataset.place)]));
  const before = text();
  let cross = [WHOLE / 2, WHOLE / 2];
  let sending = false;

  const chosen = () => choices.find(({ checked }) => checked);
  const nameOf = (choice) => choice.nextElementSibling.textContent;
  const percent = (part) => `${(part / 100).toFixed(1).replace(/\.0$/, "")}%`;
  const where = ([x, y]) => `${percent(x)} from the left, ${percent(y)} from the top`;

  function text() {
    return JSON.stringify(Object.fromEntries(places));
  }

  function path(kind, points, inside) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
    element.setAttribute("class", kind);
    element.setAttribute("d", `M${(points.length > 1 ? points : [points[0], points[0]]).map((point) => point.join(" ")).join("L")}`);
    if (inside) {
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = inside;
      element.append(title);
    }
    return element;
  }

  function draw() {
    const current = chosen();
    const order = [...choices.filter((choice) => choice !== current), current];
    svg.replaceChildren(...order.flatMap((choice) => {
      const points = places.get(choice.value);
      choice.closest("label").querySelector("small").textContent = points.length ? "on the plan" : "";
      return points.length ? [path("mark-edge", points), path(`mark ${choice === current ? "chosen" : "placed"}`, points, nameOf(choice))] : [];
    }), path("cross", [[cross[0], 0], [cross[0], WHOLE]]), path("cross", [[0, cross[1]], [WHOLE, cross[1]]]));
  }

  function announce(words) {
    status.textContent = words;
    draw();
  }

  function add(point) {
    const points = places.get(chosen().value);
    if (points.length >= MOST_POINTS) return announce(`${nameOf(chosen())}: a line has at most ${MOST_POINTS} points.`);
    if (points.length && points.at(-1).join() === point.join()) return announce(`${nameOf(chosen())}: there is already a point here.`);
    points.push(point);
    return announce(`${nameOf(chosen())}: point ${points.length} at ${where(point)}.`);
  }

  const actions = {
    undo() {
      const points = places.get(chosen().value);
      announce(points.pop() ? `${nameOf(chosen())}: the last point was removed; ${points.length} left.` : `${nameOf(chosen())}: there are no points to remove.`);
    },
    clear() {
      places.get(chosen().value).length = 0;
      announce(`${nameOf(chosen())} is no longer on the plan.`);
    },
    next() {
      const place = choices.indexOf(chosen());
      const rest = [...choices.slice(place + 1), ...choices.slice(0, place)];
      const next = rest.find(({ value }) => !places.get(value).length) ?? rest[0] ?? chosen();
      next.checked = true;
      next.closest("label").scrollIntoView({ block: "nearest" });
      announce(`${nameOf(next)}: ${places.get(next.value).length ? "it is on the plan" : "choose where it is"}.`);
    },
  };

  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { key, shiftKey } = event;
    if (moves[key]) {
      const step = shiftKey ? SMALL_STEP : STEP;
      cross = cross.map((part, axis) => Math.min(Math.max(part + step * moves[key][axis], 0), WHOLE));
      announce(where(cross));
    } else if (key === "Enter" || key === " ") add([...cross]);
    else if (key === "Backspace" || key === "Delete") actions.undo();
    else if (key === "n" || key === "N") actions.next();
    else return;
    event.preventDefault();
  });
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const shares = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    cross = shares.map((share) => Math.min(Math.max(Math.round(share * WHOLE), 0), WHOLE));
    add([...cross]);
  });
  for (const button of form.querySelectorAll("[data-do]")) button.addEventListener("click", () => actions[button.dataset.do]());
  for (const choice of choices) choice.addEventListener("change", draw);
  form.addEventListener("submit", () => {
    sending = true;
    form.elements.places.value = text();
  });
  addEventListener("beforeunload", (event) => !sending && text() !== before && event.preventDefault());
  addEventListener("pageshow", () => (sending = false));
  draw();
}

if (form) prepare();
