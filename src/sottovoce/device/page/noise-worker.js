// Noise is drawn here, beside the page, so that a slow draw never blocks it.

import { LAWS } from "./laws.js";
import { noisyReadings } from "./noisy.js";
import { ByteStream } from "./sampler.js";

onmessage = ({ data, ports: [answer] }) => answer.postMessage(noisyReadings(...data));

// The first draws take ten times as long as those that follow: some are made and thrown away before anybody waits.
for (const Law of LAWS.values()) new Law(1, 1).onGrid({ n: 1n, d: 1n }).draw(10, new ByteStream());
