// Small things that this browser keeps for the page and that never leave it: the language, what instruments need,
// and what was typed and not sent yet.

const name = (key) => `sottovoce-${key}`;

export function kept(key) {
  try {
    return localStorage.getItem(name(key));
  } catch {
    return null; // this browser keeps nothing for the page
  }
}

export function keep(key, text) {
  try {
    localStorage.setItem(name(key), text);
  } catch {
    // asked again next time
  }
}

export function forget(key) {
  try {
    localStorage.removeItem(name(key));
  } catch {
    // it was never kept
  }
}
