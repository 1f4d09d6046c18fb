// Noise is drawn here, beside the page, so that a slow draw never blocks it.

import { noisyReadings } from "./sampler.js";

addEventListener("message", ({ data: { noise, tasks, readings }, ports: [answer] }) => {
  answer.postMessage(noisyReadings(noise, tasks, readings));
});
