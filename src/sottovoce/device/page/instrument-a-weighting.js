// The A-weighting of IEC 61672: how loud each pitch sounds to the ear. Three second-order filters, for any sample rate.
//
// The standard's formula has poles at 20.6 Hz (twice), 107.7 Hz, 737.9 Hz and 12,194 Hz (twice) and four zeros at 0. Each
// pole moves to the sample rate by the bilinear transform; 1 kHz is 0 dB.

const POLES = [[20.598997, 20.598997], [107.65265, 737.86223], [12194.217, 12194.217]];

/** Coefficients [b0, b1, b2, a1, a2] of each filter. */
export function aWeighting(rate) {
  const warped = (hertz) => 2 * rate * Math.tan((Math.PI * Math.min(hertz, 0.49 * rate)) / rate);
  const filters = POLES.map((pair, place) => {
    const [first, second] = pair.map((hertz) => (2 * rate - warped(hertz)) / (2 * rate + warped(hertz)));
    const zeros = place < 2 ? [1, -2, 1] : [1, 2, 1]; // two at 0 Hz; the last pair's are at half the rate
    return [...zeros, -first - second, first * second];
  });
  const gain = Math.sqrt(powerAt(1000, filters, rate));
  filters[0] = filters[0].map((one, place) => (place < 3 ? one / gain : one));
  return filters;
}

/** The share of a tone's power that the filters let through. */
export function powerAt(hertz, filters, rate) {
  const angle = (2 * Math.PI * hertz) / rate;
  const size = (a, b, c) => (a + b * Math.cos(angle) + c * Math.cos(2 * angle)) ** 2 + (b * Math.sin(angle) + c * Math.sin(2 * angle)) ** 2;
  return filters.reduce((product, [b0, b1, b2, a1, a2]) => (product * size(b0, b1, b2)) / size(1, a1, a2), 1);
}
