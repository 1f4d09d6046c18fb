// Noise is drawn here, beside the page, so that a slow draw never blocks it.

import { ByteStream, drawNoise, noisyReadings } from "./sampler.js";

onmessage = ({ data, ports: [answer] }) => answer.postMessage(noisyReadings(...data));

// The first draws take ten times as long as those that follow: they are made now, for nothing, before anybody waits.
for (const noise of ["fresh:1", "shared:1"]) drawNoise(noise, { n: 1n, d: 1n }, 30, new ByteStream());
