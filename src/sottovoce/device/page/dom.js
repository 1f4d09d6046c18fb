// Creating elements. Text is only ever set as text, so nothing from a server becomes markup.

const SVG = ["svg", "path", "line", "circle", "text"];

/** An element: h("p.quiet", {id: "x"}, "words"). Attributes may be left out; those that start with "on" listen. */
export function h(kind, ...children) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElementNS(`http://www.w3.org/${SVG.includes(tag) ? "2000/svg" : "1999/xhtml"}`, tag);
  if (classes.length) element.classList.add(...classes);
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(4).filter(Boolean));
  return element;
}

export const button = (words, onclick, kind = "") => h(`button${kind}`, { type: "button", onclick }, words);
