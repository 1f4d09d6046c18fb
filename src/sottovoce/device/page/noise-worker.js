// Noise is drawn in this worker, so that a slow draw never blocks the page.

import { LAWS } from "./laws.js";
import { noisyReadings } from "./noisy.js";
import { ByteStream } from "./sampler.js";

onmessage = ({ data, ports: [answer] }) => answer.postMessage(noisyReadings(...data));

// The first draws take ten times as long as later ones. So some are made now and discarded, before anybody waits.
for (const Law of LAWS.values()) new Law(1, 1).onGrid?.({ n: 1n, d: 1n }).draw(10, new ByteStream());
