// A device that several people share, such as a tablet on a stand: nothing of one person stays for the next. A mark
// after the link's hash turns this on. Everything is kept in memory only, and is gone when the page is loaded again.

const MARK = "&kiosk";
const IDLE = 120_000; // milliseconds without a touch, after which the person has probably left

export const isKiosk = Boolean(globalThis.location?.hash?.endsWith(MARK));

/** A link's fragment without the mark. */
export const withoutMark = (fragment) => (fragment.endsWith(MARK) ? fragment.slice(0, -MARK.length) : fragment);

/** Begin again, for the next person. */
export const startOver = () => location.reload();

/** Begin again automatically when nobody has touched the device for a while, unless something is waiting to be sent. */
export function startOverWhenIdle(isWaiting) {
  let timer;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => ((await isWaiting()) ? later() : startOver()), IDLE);
  };
  for (const event of ["pointerdown", "keydown", "input", "scroll"]) addEventListener(event, later, { passive: true, capture: true });
  later();
}
