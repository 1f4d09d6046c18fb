// Noise is drawn in this worker, so that a slow draw never blocks the page.

import { ByteStream, drawNoise, noisyReadings } from "./sampler.js";

onmessage = ({ data, ports: [answer] }) => answer.postMessage(noisyReadings(...data));

// The first draws take ten times as long as later ones. So some are made now and discarded, before anybody waits.
for (const noise of ["fresh:1", "shared:1"]) drawNoise(noise, { n: 1n, d: 1n }, 30, new ByteStream());
