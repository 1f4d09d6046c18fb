// Randomised response: the true answer, or now and then any other one.

import { exactNumber, isParameter, ratio, roundedUp, times } from "./exact.js";
import { responseShifts } from "./sampler.js";

export class Response {
  static name = "response";
  static takes = ([epsilon, size, ...more]) => isParameter(epsilon) && (size === undefined || /^([2-9]|[1-9]\d{1,4})$/.test(size)) && !more.length;
  isPure = true;
  readingsComeAtOnce = false;

  constructor(epsilon, size = 1) {
    Object.assign(this, { epsilon, cellsReported: size });
  }

  /** The chances that the true cell, and that any other one, is reported. */
  channel(cells) {
    const others = ((cells - this.cellsReported) / this.cellsReported) * Math.exp(-this.epsilon);
    const hit = 1 / (1 + others);
    return { hit, miss: (this.cellsReported - 1 + others * hit) / (cells - 1) };
  }

  takesCells(cells) {
    return this.cellsReported < cells;
  }

  shifts(cells, stream) {
    const { n, d } = this.#exact;
    return cells.map((count) => responseShifts(stream, BigInt(count), BigInt(this.cellsReported), n, d).map(Number));
  }

  pureEpsilon(moved) {
    return roundedUp(times(this.#exact, ratio(BigInt(moved))));
  }

  /** Of one answer: e^±ε times as likely, or equally likely because the set has both answers or neither. */
  losses(cells) {
    const [size, ratio] = [this.cellsReported, Math.exp(-this.epsilon)];
    const others = ((cells - size) / size) * ratio;
    const each = [cells - size, size - 1 + others * (cells - 1 - size), (cells - size) * ratio];
    const chances = Float64Array.from(each, (part) => part / (cells - 1) / (1 + others));
    return { top: this.pureEpsilon(1), spacing: this.pureEpsilon(1), chances, lost: 0 };
  }

  leastEpsilon(cells, readings, moved, delta) {
    const [size, ratio] = [this.cellsReported, Math.exp(-this.epsilon)];
    const tells = (cells - size) / (cells - 1) / (1 + ((cells - size) / size) * ratio);
    const total = Math.ceil(moved * tells * (1 - ratio) - Math.sqrt(moved * tells * (1 + ratio)));
    const many = delta < 0.5 ? total * this.epsilon + Math.log1p(-2 * delta) : -Infinity;
    const one = delta < tells ? this.epsilon + Math.log1p(-delta / tells) : -Infinity;
    return delta ? Math.max(one, many) : moved * this.epsilon;
  }

  chanceOfTruth(cells) {
    return this.cellsReported / (this.cellsReported + (cells - this.cellsReported) * Math.exp(-this.epsilon));
  }

  get #exact() {
    return exactNumber(String(this.epsilon));
  }
}
