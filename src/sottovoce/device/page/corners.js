// δ at many ε at once, from privacy losses and their chances, as in the installed client. These ε are called corners. A
// loss between two corners is divided between them, keeping the chances before and after a move, so δ at the corners is
// unchanged.

const ROUNDING = 1e-12; // more than the rounding errors of any one loss
const SLACK = 1 + 1e-9; // more than those of products and sums of positive terms
const TINY = 1e-300; // for what is too small for a double

/** Chances of losses at corners that rise from 0. */
export class Corners {
  lost = 0; // the chance of infinite losses

  constructor(ends) {
    this.ends = ends;
    this.shares = ends.map((end, place) => -Math.expm1(end - (ends[place + 1] ?? Infinity)));
    this.chances = new Float64Array(ends.length);
  }

  /** Add losses, the largest first, with these chances times a factor. Losses below 0 do not affect δ. */
  add(losses, chances, factor) {
    let below = this.ends.length - 1;
    for (let place = 0; place < losses.length; place += 1) {
      const loss = losses[place] * (1 + ROUNDING);
      if (!(loss > 0)) break;
      while (this.ends[below] > loss) below -= 1;
      const chance = chances[place] * factor;
      const up = chance * Math.min(1, -Math.expm1(this.ends[below] - loss) / this.shares[below]);
      this.chances[below] += chance - up;
      if (below + 1 < this.ends.length) this.chances[below + 1] += up;
      else this.lost += up;
    }
  }

  /** An upper bound on δ at each corner, from the last to the first: all terms are positive. */
  deltas() {
    let [delta, beyond] = [this.lost, this.lost];
    const deltas = [delta];
    for (let place = this.ends.length - 2; place >= 0; place -= 1) {
      beyond += this.chances[place + 1];
      delta = this.shares[place] * beyond + (1 - this.shares[place]) * delta;
      deltas.push(delta);
    }
    return deltas.reverse().map((one) => one * SLACK + TINY);
  }
}
